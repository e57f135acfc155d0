"""What is stored, as SQLAlchemy tables; the same for SQLite and PostgreSQL. Names start with ``agentic_``.

An application keeps its own tables in the same database, so that a command's effect and its result are one
transaction. Points in time are seconds since the epoch; payloads and results are canonical JSON as text, byte for byte.
"""

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text, UniqueConstraint, text

metadata = MetaData()
"""Every table of the library, for migrations."""

ascending = BigInteger().with_variant(Integer(), "sqlite")  # SQLite numbers rows by INTEGER PRIMARY KEY only
# only effects are ever seen open; the others are never put into the index, since their state changes before the commit
_OPEN = text("lease_until IS NOT NULL AND state IN ('executing', 'unknown')")

commands = Table(
    "agentic_command",
    metadata,
    Column("command_id", String(200), primary_key=True),
    Column("type", String(200), nullable=False),
    Column("target", Text),
    Column("aggregate", Text, nullable=False),  # what the outbox orders by
    Column("digest", String(64)),  # NULL: a tombstone of a command that was never seen
    Column("input", Text, nullable=False),
    Column("expected_version", Text),  # JSON: 1 and "1" are different versions
    Column("actor", Text, nullable=False),
    Column("proposal_id", String(200)),
    Column("approved_by", Text),
    Column("approved_at", Float(53)),
    Column("state", String(20), nullable=False),
    Column("result", Text),
    Column("created_at", Float(53), nullable=False),
    Column("lease_until", Float(53)),  # an external effect that runs longer than this is unknown
    Index("ix_agentic_command_open", "digest", sqlite_where=_OPEN, postgresql_where=_OPEN),
)

audit = Table(
    "agentic_audit",
    metadata,
    Column("entry_id", ascending, primary_key=True, autoincrement=True),
    Column("command_id", String(200), nullable=False, index=True),
    Column("event", String(20), nullable=False),
    Column("type", String(200), nullable=False),
    Column("target", Text),
    Column("actor", Text, nullable=False),
    Column("code", String(200), nullable=False),
    Column("at", Float(53), nullable=False),
    Column("detail", Text, nullable=False),
)

outbox = Table(
    "agentic_outbox",
    metadata,
    Column("message_id", ascending, primary_key=True, autoincrement=True),
    Column("aggregate", Text, nullable=False),
    Column("sequence", ascending, nullable=False),  # 1, 2, 3... for each aggregate, without gaps
    Column("body", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("shipped_at", Float(53)),
    UniqueConstraint("aggregate", "sequence", name="uq_agentic_outbox_aggregate"),
    Index(
        "ix_agentic_outbox_waiting",
        "message_id",
        sqlite_where=text("shipped_at IS NULL"),
        postgresql_where=text("shipped_at IS NULL"),
    ),
)

proposals = Table(
    "agentic_proposal",
    metadata,
    Column("proposal_id", String(200), primary_key=True),
    Column("command_id", String(200), nullable=False, unique=True),
    Column("type", String(200), nullable=False),
    Column("input", Text, nullable=False),
    Column("target", Text),
    Column("expected_version", Text),
    Column("reason", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("state", String(20), nullable=False, index=True),
    Column("actor", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("expires_at", Float(53)),
    Column("decided_by", Text),
    Column("decided_at", Float(53)),
    Column("call_input", Text),  # NULL: the same as the command's
    Column("capability", Text),  # whose call it was; several may submit one type
    Column("capability_target", Text),
    Column("session", String(32)),  # whose it is; see `sessions`
)
