"""Alembic's environment: it runs on the connection that the store hands over, inside the store's transaction."""

from alembic import context

from agentic_qt.commands.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="agentic_schema",
)
context.run_migrations()
