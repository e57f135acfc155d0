"""Facts: commands that happen exactly once, and can always say what happened (optional extra ``commands``).

`states` owns the table of states, `values` the values, `tables` and `migrations` what is stored, `service` the
embedded service, `proposals` what waits for a person, `effects` what leaves the process, `outbox` what is shipped on.
SQLAlchemy, Alembic, psycopg, FastAPI and httpx have this one door. No widget is known here.

A further table is defined on `tables.metadata` and gets a migration of its own in ``migrations/versions``.
"""
