"""Sessions and mapped inputs: whose a proposal is, which call it was of, and who settled an interrupted call."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("agentic_proposal", sa.Column("call_input", sa.Text(), nullable=True))
    op.add_column("agentic_proposal", sa.Column("capability", sa.Text(), nullable=True))
    op.add_column("agentic_proposal", sa.Column("capability_target", sa.Text(), nullable=True))
    op.add_column("agentic_proposal", sa.Column("session", sa.String(length=32), nullable=True))
    op.add_column("agentic_intent", sa.Column("settled_by", sa.Text(), nullable=True))
