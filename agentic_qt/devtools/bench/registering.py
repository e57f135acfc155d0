"""What it costs to register capabilities with different schemas and to dispose of them, against a peer's commands.

The peer (app-model) keeps commands without schemas, so it checks none; it is what applications use today for that part.
"""

from pathlib import Path
from statistics import median

from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.devtools.bench.scripts import run_script

COUNT = 1000
LIMIT = 3.0

# One script for both; each gives `register(number, schema)`, which makes and registers one and returns how to dispose.
_OURS = """
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry
registry = Registry()
def handler(**_): pass
def register(number, schema):
    return registry.register(
        Capability(
            name=f"orders.create_{number}",
            description=f"Create order {number}.",
            input_schema=schema,
            risk="mutating",
            handler=handler,
        )
    ).dispose
"""
_APP_MODEL = """
from app_model import Action, Application
application = Application("bench")
def handler(**_): pass
def register(number, schema):
    return application.register_action(
        Action(id=f"orders.create_{number}", title=f"Create order {number}.", callback=handler)
    )
"""
_WORK = """
import json, sys, time
COUNT = int(sys.argv[1])
SCHEMA = sys.argv[2]
def turn(first):
    schemas = [json.loads(SCHEMA.replace("200", str(200 + first + number))) for number in range(COUNT)]
    start = time.process_time()
    disposals = [register(number, schema) for number, schema in enumerate(schemas)]
    for dispose in disposals:
        dispose()
    return time.process_time() - start
turn(0)
print(sorted(turn(COUNT * (1 + number)) for number in range(5))[2] / COUNT * 1e6)
"""
_SCHEMA = """{"type": "object", "additionalProperties": false, "required": ["title", "items"], "properties": {
"title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Order title"},
"priority": {"type": "integer", "minimum": 1, "maximum": 5, "description": "1 low to 5 high"},
"status": {"type": "string", "enum": ["draft", "open", "closed"], "description": "Workflow state"},
"items": {"type": "array", "minItems": 1, "maxItems": 50, "description": "Order lines", "items": {"type": "object",
"properties": {"sku": {"type": "string", "minLength": 1}, "qty": {"type": "integer", "minimum": 1}},
"required": ["sku", "qty"], "additionalProperties": false}},
"note": {"type": ["string", "null"], "description": "Free text"}}}"""


def measure(rounds: int, peers: Path | None) -> list[Row]:
    """Measure both in turns.

    Args:
        rounds: How often they take turns.
        peers: The interpreter that has the peer; None: measure ours alone.
    """
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours += run_script(_OURS + _WORK, COUNT, _SCHEMA)
        if peers is not None:
            theirs += run_script(_APP_MODEL + _WORK, COUNT, _SCHEMA, python=peers)
    name = f"register and dispose of {COUNT:,} capabilities with different schemas, each"
    if not theirs:
        return [Row(name=name, value=median(ours), unit="us")]
    ratio = median(own / other for own, other in zip(ours, theirs, strict=True))
    return [
        Row(name="register and dispose of an action in app-model", value=median(theirs), unit="us"),
        Row(name=name, value=median(ours), unit="us", ratio=ratio, base="app-model", limit=LIMIT),
    ]
