"""How a store becomes what this version expects: Alembic's scripts, run at start by `agentic_qt.commands.store`."""
