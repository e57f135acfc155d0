"""What stands behind the window: the file it reads, the service it submits commands to, and who sits before it.

By default the service is embedded and has the file to itself and other windows. With a URL it is another process's, and
only reads go to the file; what was proposed and asked is then kept in a small file of the window's own.
"""

import getpass
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.port import CommandPort
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor, Code, CommandStatus
from examples.crm import commands, later
from examples.crm.store import Store, UnreadableError, check_file, url_of


class BackendError(Exception):
    """The file or the service cannot be used; the message says why, for a person."""


@dataclass(frozen=True, kw_only=True)
class Backend:
    """What a window needs.

    Args:
        store: Where rows are read.
        service: Where commands are submitted.
        own: Where proposals and the journal are kept: the embedded service itself, or one beside the settings.
        actor: Who sits at the window.
        url: Of a remote service; empty for the embedded one.
        leave: Ends the connection to a remote service.
    """

    store: Store
    service: CommandPort
    own: CommandService
    actor: Actor
    url: str = ""
    leave: Callable[[], Awaitable[None]] | None = None

    async def trouble(self) -> str:
        """Return why a remote service cannot be used now; empty when it can."""
        if not self.url:
            return ""
        # An id that was never used: the answer says only whether somebody answers, and knows the token.
        found = await self.service.status(self.service.new_id(), self.actor)
        if found.status is CommandStatus.NOT_FOUND:
            return ""
        if found.code == Code.CONNECTION_LOST:
            return f"The service at {self.url} cannot be reached. Nothing can be changed until it is there again."
        return found.hint

    async def close(self) -> None:
        """Let what is executing end and be stored, then close everything."""
        if self.leave is not None:
            await self.leave()
        await self.own.close()
        self.store.close()


def log_in() -> Actor:
    """Return who is logged in to this computer, with everything that this application lets a person do."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name
        name = ""
    return Actor(name=name or "you", permissions=commands.PERMISSIONS)


async def open_backend(path: Path) -> Backend:
    """Open a file with a service of its own, made and filled with the samples on the first start.

    Raises:
        BackendError: The file cannot be used.
    """
    try:
        check_file(path)
    except (OSError, UnreadableError) as error:
        raise BackendError(f"{path} cannot be opened: {error}") from error
    embedded = await _start(commands.service(url_of(path)), path)
    return Backend(store=await _read(path, embedded), service=embedded, own=embedded, actor=log_in())


async def open_remote(path: Path, url: str, token: str, *, own: Path) -> Backend:
    """Open a file that another process writes to.

    Args:
        path: The SQLite file, for reading.
        url: Of the service that writes to it.
        token: For that service.
        own: Where the window keeps proposals and its journal.

    Raises:
        BackendError: One of them cannot be used. A service that does not answer is no error; see `Backend.trouble`.
    """
    _check_shared(path, own)
    try:
        client = later.CommandClient(url, token)
    except CommandError as error:
        raise BackendError(f"{url} cannot be used: {error}") from error
    try:
        kept = await _start(CommandService(url_of(own)), own)
        store = await _read(path, kept)
    except BackendError:
        await client.close()
        raise
    return Backend(store=store, service=client, own=kept, actor=log_in(), url=url, leave=client.close)


def _check_shared(path: Path, own: Path) -> None:
    """Do nothing when the file of another process is there, and our own can be made."""
    if not path.exists():
        raise BackendError(f"{path} is not there. Start the service that writes to it, or say which file with --db.")
    try:
        check_file(path)
        check_file(own)
    except (OSError, UnreadableError) as error:
        raise BackendError(f"{path} or {own} cannot be opened: {error}") from error


async def _start(service: CommandService, path: Path) -> CommandService:
    try:
        await service.start()
    except CommandError as error:
        raise BackendError(f"{path} cannot be opened: {error}") from error
    return service


async def _read(path: Path, own: CommandService) -> Store:
    try:
        return Store(path)
    except UnreadableError as error:
        await own.close()
        raise BackendError(f"{path} cannot be opened: {error}") from error
