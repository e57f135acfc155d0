"""The client of a remote service, with the interface of the embedded one.

What it promises: a time-out or a broken connection is never "failed" and never a reason for a new id. It is
``unknown``; then the same id is asked for, with growing pauses, as long as patience lasts.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Self, TypeVar, Unpack

import httpx

from agentic_qt.commands import wire
from agentic_qt.commands.answers import lost, refused
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.intake import check_id
from agentic_qt.commands.port import AuditFilter
from agentic_qt.commands.submissions import Submissions
from agentic_qt.commands.values import (
    Actor,
    AuditEntry,
    Code,
    Command,
    CommandRecord,
    CommandResult,
    CommandStatus,
    Preview,
)
from agentic_qt.core.errors import CapabilityError

_log = logging.getLogger("agentic_qt.commands.client")
_T = TypeVar("_T")
UNREACHABLE: Final = "unreachable"
"""The code when no connection could be opened, so that nothing was sent."""
_UNREACHABLE_HINT: Final = "The service of commands cannot be reached; nothing was sent."
_LOST_HINT: Final = (
    "The service did not answer, and the command may have happened; ask for its status under the same id."
)
_OPEN: Final = frozenset({CommandStatus.EXECUTING, CommandStatus.UNKNOWN, CommandStatus.NOT_FOUND})
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.LocalProtocolError,
    httpx.UnsupportedProtocol,
)
_DENIALS: Final[Mapping[int, tuple[str, str]]] = {
    400: ("bad_request", "The service refused the request."),
    401: ("unauthenticated", "The service does not accept this token."),
    403: ("denied", "The service does not allow this."),
    413: ("too_large", "The command is too large for the service."),
}


class CommandClient(Submissions):
    """Submits commands to a service over HTTP; use it as ``async with``, or call `close`.

    Args:
        url: ``http://127.0.0.1:PORT``, or ``https://HOST``. Without TLS only loopback is accepted: the token travels.
        token: The bearer token; it says who acts, whatever actor a call names.
        timeout: Seconds that one request may take.
        patience: Seconds for which the status of an ``unknown`` command is asked for before `submit` returns.
        first_pause: Seconds before the first such question; doubled each time.
        longest_pause: Seconds between two questions at most.
        ids: Source of new command ids: letters, digits and ``. _ ~ : -``.
        wait: Seconds that a duplicate waits for the first of its id before it is told ``in_progress``.
        sleep: Waits; for tests.
        transport: How requests are sent; for tests.

    Raises:
        CommandError: The URL is no place for a token; code ``insecure_url``.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 15.0,
        patience: float = 30.0,
        first_pause: float = 0.25,
        longest_pause: float = 5.0,
        ids: Callable[[], str] = lambda: str(uuid.uuid4()),
        wait: float = 5.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        parsed = httpx.URL(url)
        if parsed.scheme != "https" and not (parsed.scheme == "http" and _is_loopback(parsed.host)):
            raise CommandError("insecure_url", "A service is reached by https, or by http on this machine.")
        super().__init__(ids=ids, wait=wait)
        self._sleep = sleep
        self._timeout = timeout
        self._patience = patience
        self._pauses = (first_pause, longest_pause)
        self._http = httpx.AsyncClient(
            base_url=parsed,
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            follow_redirects=False,
            trust_env=False,  # no proxy of the environment gets the token
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop asking what became of commands, and close every connection; who still waits is told ``unknown``."""
        await asyncio.sleep(0)  # a task that is cancelled before it began could give no answer
        while tasks := [each.task for each in self._running.values()]:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=0.1)  # anyio may swallow one that comes while it connects: again
        await self._http.aclose()

    async def status(self, command_id: str, actor: Actor | None = None) -> CommandResult:  # noqa: ARG002 - the token's
        """Ask once what is stored under an id; no answer is ``unknown`` with code ``connection_lost``."""
        return await self._ask_about(command_id, "GET", "")

    async def abandon(self, command_id: str, actor: Actor) -> CommandResult:  # noqa: ARG002 - the token's
        """Close an id that is unknown or was never seen; no answer is ``unknown`` with code ``connection_lost``."""
        return await self._ask_about(command_id, "POST", "/abandon")

    async def settle(
        self,
        command_id: str,
        actor: Actor,  # noqa: ARG002 - the token's
        *,
        happened: bool,
        note: str,
        data: Any = None,
    ) -> CommandResult:
        """State what became of an unknown effect; no answer is ``unknown`` with code ``connection_lost``."""
        content = wire.encode_json({"happened": happened, "note": note, "data": data})
        return await self._ask_about(command_id, "POST", "/settle", content=content)

    async def preview(self, type_: str, input_: Mapping[str, Any], actor: Actor) -> Preview:  # noqa: ARG002 - the token's
        """Read what a person should see before approving.

        Raises:
            CapabilityError: It cannot be previewed; code ``unreachable`` (retryable) when nobody answered.
        """
        content = wire.encode_json({"type": type_, "input": dict(input_)})
        try:
            answer = await self._ask("POST", "/previews", content=content)
            if answer.is_success:
                return wire.decode_preview(answer.content)
            fields = answer.json()
            code, hint = str(fields["title"]), str(fields["detail"])
        except (httpx.HTTPError, TimeoutError) as error:
            raise CapabilityError(UNREACHABLE, "The service cannot be reached.", retryable=True) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CapabilityError("bad_answer", "The service's answer was not understood.") from error
        raise CapabilityError(code, hint, retryable=answer.is_server_error)

    async def find_open(self, command: Command, actor: Actor) -> CommandRecord | None:  # noqa: ARG002 - the token's
        """Return the token's command of the same type and digest that is executing or unknown.

        Raises:
            CommandError: Nobody answered; code ``unreachable`` or ``bad_answer``.
        """
        answer = await self._read("POST", "/open-commands", content=wire.encode_command(command))
        if answer.status_code == 204:
            return None
        return _understood(wire.decode_record, answer.content)

    async def history(self, **asked: Unpack[AuditFilter]) -> tuple[AuditEntry, ...]:
        """Return lines of the audit, the newest first; those of others only with the permission to operate.

        Raises:
            CommandError: Nobody answered; code ``unreachable`` or ``bad_answer``.
        """
        params = wire.encode_filter(asked)
        return _understood(wire.decode_audit, (await self._read("GET", "/history", params=params)).content)

    async def _refuse(self, command: Command, actor: Actor) -> CommandResult | None:  # noqa: ARG002 - the token's
        return _check_id(command.command_id)

    async def _carry_out(self, command: Command, actor: Actor) -> CommandResult:
        """Send a command; when its answer is lost, ask for it under the same id until patience ends.

        ``refused`` with code ``unreachable`` means that nothing was sent; ``unknown`` that it may have happened.
        """
        try:
            result = await self._send(command)
            if result.code != Code.CONNECTION_LOST and result.status is not CommandStatus.EXECUTING:
                return result
            return await self._find_out(result, actor)
        except asyncio.CancelledError:  # by `close`, or the end of the loop: whoever waits gets an answer
            return _lost(command.command_id)

    async def _answer_other(self, command: Command, actor: Actor) -> CommandResult:  # noqa: ARG002 - the token's
        return await self._send(command)  # the service knows both

    async def _send(self, command: Command) -> CommandResult:
        return await self._ask_for_result(
            "POST",
            "/commands",
            command.command_id,
            content=wire.encode_command(command),
            headers={"Idempotency-Key": wire.encode_key(command.command_id), "Content-Type": wire.RESULT_TYPE},
        )

    async def _find_out(self, result: CommandResult, actor: Actor) -> CommandResult:
        """Ask for a command under its own id until it is known, or patience ends."""
        pause, longest = self._pauses
        waited = 0.0
        while waited < self._patience:
            await self._sleep(pause)
            waited += pause
            pause = min(pause * 2, longest)
            found = await self.status(result.command_id, actor)
            if found.status not in _OPEN:
                return found
            if found.status is CommandStatus.UNKNOWN and found.code != Code.CONNECTION_LOST:
                return found  # the service itself does not know
            if found.status is CommandStatus.EXECUTING:
                result = found
        # What was not found may still be on its way: `not_found` is no answer to what became of it.
        return result if result.status is CommandStatus.EXECUTING else _lost(result.command_id)

    async def _ask_about(self, command_id: str, method: str, what: str, **request: Any) -> CommandResult:
        bad_id = _check_id(command_id)
        if bad_id is not None:
            return bad_id
        result = await self._ask_for_result(method, f"/commands/{command_id}{what}", command_id, **request)
        return self._note(_lost(command_id) if result.code == UNREACHABLE else result)

    async def _ask_for_result(self, method: str, path: str, command_id: str, **request: Any) -> CommandResult:
        try:
            answer = await self._ask(method, path, **request)
        except _NOT_SENT:
            return refused(command_id, UNREACHABLE, _UNREACHABLE_HINT, retryable=True)
        except (httpx.HTTPError, TimeoutError) as error:
            _log.warning("%s %s had no answer: %s", method, path, type(error).__name__)
            return _lost(command_id)
        try:
            return wire.decode_answer(answer.content, command_id)
        except wire.WireError:
            denial = _DENIALS.get(answer.status_code)
            if denial is not None:  # not even begun; whoever answers in between (a proxy) is as good as the service
                return refused(command_id, *denial)
            _log.warning("%s %s was answered by %s without a result", method, path, answer.status_code)
            return _lost(command_id)

    async def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send one request; httpx's own limit is for each piece of an answer, and a slow one has many."""
        async with asyncio.timeout(self._timeout):
            return await self._http.request(method, path, **request)

    async def _read(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            answer = await self._ask(method, path, **request)
        except (httpx.HTTPError, TimeoutError) as error:
            raise CommandError(UNREACHABLE, "The service cannot be reached.") from error
        if not answer.is_success:
            raise CommandError("bad_answer", f"The service answered with HTTP {answer.status_code}.")
        return answer


def _understood(decode: Callable[[bytes], _T], body: bytes) -> _T:
    try:
        return decode(body)
    except wire.WireError as error:
        raise CommandError("bad_answer", error.message) from error


def _check_id(command_id: str) -> CommandResult | None:
    bad_id = check_id(command_id)
    if bad_id is None and not wire.is_travelling_id(command_id):
        return refused(command_id, Code.INVALID, "An id has at most 200 letters, digits and . _ ~ : - here.")
    return bad_id


def _lost(command_id: str) -> CommandResult:
    return lost(command_id, _LOST_HINT)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
