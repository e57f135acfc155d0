"""JSON in and out: canonical bytes, schemas, and schemas inferred from functions.

The lowest layer: it knows nothing of capabilities and Qt, and is the one door to jsonschema, jsonschema-rs
and rfc8785. `canonical` owns the limits of every JSON value, `validate` judges values by a schema, `infer`
makes a schema of a function. A bad value is an `InputError`, a bad schema a `SchemaError`.
"""
