"""The first tables: commands, their audit, the outbox and proposals."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    _make_audit()
    _make_command()
    _make_outbox()
    _make_proposal()


def _make_audit() -> None:
    op.create_table(
        "agentic_audit",
        sa.Column("entry_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("command_id", sa.String(length=200), nullable=False),
        sa.Column("event", sa.String(length=20), nullable=False),
        sa.Column("type", sa.String(length=200), nullable=False),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("code", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("entry_id"),
    )
    op.create_index(op.f("ix_agentic_audit_command_id"), "agentic_audit", ["command_id"], unique=False)


def _make_command() -> None:
    op.create_table(
        "agentic_command",
        sa.Column("command_id", sa.String(length=200), nullable=False),
        sa.Column("type", sa.String(length=200), nullable=False),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("aggregate", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=True),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("expected_version", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("proposal_id", sa.String(length=200), nullable=True),
        sa.Column("approved_by", sa.Text(), nullable=True),
        sa.Column("approved_at", sa.Float(precision=53), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("lease_until", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("command_id"),
    )
    op.create_index(
        "ix_agentic_command_open",
        "agentic_command",
        ["digest"],
        unique=False,
        sqlite_where=sa.text("lease_until IS NOT NULL AND state IN ('executing', 'unknown')"),
        postgresql_where=sa.text("lease_until IS NOT NULL AND state IN ('executing', 'unknown')"),
    )


def _make_outbox() -> None:
    op.create_table(
        "agentic_outbox",
        sa.Column(
            "message_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False
        ),
        sa.Column("aggregate", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("shipped_at", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("message_id"),
        sa.UniqueConstraint("aggregate", "sequence", name="uq_agentic_outbox_aggregate"),
    )
    op.create_index(
        "ix_agentic_outbox_waiting",
        "agentic_outbox",
        ["message_id"],
        unique=False,
        sqlite_where=sa.text("shipped_at IS NULL"),
        postgresql_where=sa.text("shipped_at IS NULL"),
    )


def _make_proposal() -> None:
    op.create_table(
        "agentic_proposal",
        sa.Column("proposal_id", sa.String(length=200), nullable=False),
        sa.Column("command_id", sa.String(length=200), nullable=False),
        sa.Column("type", sa.String(length=200), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("expected_version", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("expires_at", sa.Float(precision=53), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.Float(precision=53), nullable=True),
        sa.PrimaryKeyConstraint("proposal_id"),
        sa.UniqueConstraint("command_id"),
    )
    op.create_index(op.f("ix_agentic_proposal_state"), "agentic_proposal", ["state"], unique=False)
