"""A small shop whose customers are changed by commands: what the tests and the long runs of commands work with.

The ledger has no unique key: an effect that happened twice is seen as two rows.
"""

from typing import Any

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, create_engine, func, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from agentic_qt.commands.library import choose_library
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.tokens import Tokens, hash_token
from agentic_qt.commands.values import Actor, Command
from agentic_qt.core.errors import CapabilityError

tables = MetaData()
customers = Table(
    "customer",
    tables,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", String(100), nullable=False),
    Column("version", Integer, nullable=False),
)
ledger = Table("ledger", tables, Column("n", Integer, primary_key=True), Column("entry", String(100), nullable=False))

ANN = Actor(name="ann", permissions=frozenset({"customer.write", "customer.delete"}))
BOB = Actor(name="bob", permissions=frozenset({"customer.write"}))
CHIEF = Actor(name="chief", permissions=frozenset({"commands.operate"}))
TOKENS = Tokens({hash_token(f"t-{each.name}"): each for each in (ANN, BOB, CHIEF)})
"""``t-ann``, ``t-bob`` and ``t-chief``."""


def schema(**properties: Any) -> dict[str, Any]:
    """An object schema whose properties are all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def version_of(session: Session, input_: dict[str, Any]) -> int | None:
    """The version of the customer that an input names."""
    return session.scalar(select(customers.c.version).where(customers.c.id == input_["id"]))


def preview_of(session: Session, input_: dict[str, Any]) -> dict[str, Any] | None:
    """The customer that an input names."""
    row = session.execute(select(customers).where(customers.c.id == input_["id"])).one_or_none()
    return None if row is None else row._asdict()


def on_start(connection: Connection) -> None:
    """Make the shop's tables."""
    tables.create_all(connection)


def make_service(url: str, **settings: Any) -> CommandService:
    """Return a service with the shop's commands; it is not started."""
    service = CommandService(url, **{"on_start": on_start, "busy_timeout": 20.0, **settings})
    integer, string = {"type": "integer"}, {"type": "string", "maxLength": 100}

    @service.command("customer.create", schema=schema(id=integer, name=string), permission="customer.write")
    def create(session: Session, input_: dict[str, Any], actor: Actor) -> dict[str, Any]:
        session.execute(insert(customers).values(**input_, version=1))
        return {"id": input_["id"]}

    @service.command(
        "customer.rename",
        schema=schema(id=integer, name=string),
        permission="customer.write",
        version_of=version_of,
        preview_of=preview_of,
    )
    def rename(session: Session, input_: dict[str, Any], actor: Actor) -> dict[str, Any]:
        if not input_["name"]:
            raise CapabilityError("no_name", "A customer needs a name.")
        changed = {"name": input_["name"], "version": customers.c.version + 1}
        session.execute(customers.update().where(customers.c.id == input_["id"]).values(**changed))
        return {"id": input_["id"], "name": input_["name"]}

    @service.command(
        "customer.delete",
        schema=schema(id=integer),
        permission="customer.delete",
        version_of=version_of,
        preview_of=preview_of,
    )
    def delete(session: Session, input_: dict[str, Any], actor: Actor) -> dict[str, Any]:
        session.execute(insert(ledger).values(entry=f"delete {input_['id']}"))
        session.execute(customers.delete().where(customers.c.id == input_["id"]))
        return {"id": input_["id"]}

    @service.command("ledger.add", schema=schema(entry=string), permission=None)
    def add(session: Session, input_: dict[str, Any], actor: Actor) -> dict[str, Any]:
        session.execute(insert(ledger).values(entry=input_["entry"]))
        return {"entry": input_["entry"], "ratio": 1.0}

    return service


async def lose_lock(service: CommandService) -> None:
    """Let the session of a running service look dead to others, as after a lost connection to the server."""
    await service._io(service.sessions.close)


def add_entry(entry: str, command_id: str | None = None) -> Command:
    """A command that writes one line of the ledger; its id is the entry unless another is given."""
    return Command.of("ledger.add", {"entry": entry}, command_id=entry if command_id is None else command_id)


class Inspector:
    """Looks into a store past the service, from the thread that asks.

    Args:
        url: Of the store.
    """

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        if parsed.drivername == "sqlite":
            self._engine = create_engine(parsed, module=choose_library().module, poolclass=NullPool)
        else:
            self._engine = create_engine(parsed.set(drivername="postgresql+psycopg"), poolclass=NullPool)

    def rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(statement), values)]

    def change(self, statement: str, **values: Any) -> None:
        """Change something behind the service's back."""
        with self._engine.begin() as connection:
            connection.execute(text(statement), values)

    def entries(self) -> dict[str, int]:
        """Each entry of the ledger and how often it stands there."""
        with self._engine.connect() as connection:
            counted = select(ledger.c.entry, func.count()).group_by(ledger.c.entry)
            return {row[0]: row[1] for row in connection.execute(counted)}

    def results(self) -> dict[str, str | None]:
        """Each stored command id and its result."""
        return dict(self.rows("SELECT command_id, result FROM agentic_command"))

    def events(self, command_id: str) -> list[str]:
        """The audit of one command, oldest first."""
        found = "SELECT event, code FROM agentic_audit WHERE command_id = :id ORDER BY entry_id"
        return [" ".join(filter(None, row)) for row in self.rows(found, id=command_id)]
