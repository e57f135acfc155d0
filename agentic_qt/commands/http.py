"""The service over HTTP, for applications that share one store; loopback unless told otherwise.

``POST /commands`` (Idempotency-Key), ``GET /commands/{id}``, ``POST /commands/{id}/abandon`` and ``.../settle``,
``POST /previews``, ``POST /open-commands``, ``GET /history``, ``GET /health``. Every request but the last carries a
bearer token; the token says who acts. No browser is served: a request with an Origin, or for a host that was not named,
is refused.
"""

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.middleware.base import RequestResponseEndpoint

from agentic_qt.commands import wire
from agentic_qt.commands.answers import refused
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.tokens import Authenticate
from agentic_qt.commands.values import OPERATE, Actor, CommandResult, CommandStatus
from agentic_qt.core.errors import CapabilityError

_log = logging.getLogger("agentic_qt.commands.http")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The hosts that a request may name by default."""
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class _Stopped(Exception):  # noqa: N818 - an answer
    """Ends a request with a problem."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(code)
        self.response = _problem(status, code, detail)


def create_app(service: CommandService, authenticate: Authenticate, *, hosts: Iterable[str] = LOOPBACK) -> FastAPI:
    """Return the ASGI application for a started service.

    Args:
        service: Started and closed by the caller.
        authenticate: The actor of a bearer token; `tokens.Tokens` reads a file.
        hosts: The values, without port, that the Host header may have; others are refused (DNS rebinding).
    """
    # No pages of documentation: they load scripts from elsewhere, and this serves no browser.
    app = FastAPI(title="agentic-qt commands", docs_url=None, redoc_url=None, openapi_url=None)
    endpoints = _Endpoints(service, authenticate)
    app.post("/commands")(endpoints.submit)
    app.get("/commands/{command_id}")(endpoints.status)
    app.post("/commands/{command_id}/abandon")(endpoints.abandon)
    app.post("/commands/{command_id}/settle")(endpoints.settle)
    app.post("/previews")(endpoints.preview)
    app.post("/open-commands")(endpoints.find_open)
    app.get("/history")(endpoints.history)
    app.get("/health")(endpoints.health)
    allowed = frozenset(host.lower() for host in hosts)

    @app.middleware("http")
    async def guard(request: Request, call_next: RequestResponseEndpoint) -> Response:
        if _host(request.headers.get("host", "")) not in allowed or "origin" in request.headers:
            return _problem(403, "forbidden_origin", "This host or origin is not served.")
        try:
            return await call_next(request)
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            return _problem(500, "internal_error", "The request failed; the details are in the service's log.")

    return app


class _Endpoints:
    def __init__(self, service: CommandService, authenticate: Authenticate) -> None:
        self._service = service
        self._authenticate = authenticate

    async def submit(self, request: Request) -> Response:
        async def work(actor: Actor) -> Response:
            command_id = ""
            try:
                command_id = wire.decode_key(_single(request, "idempotency-key"))
                command = wire.decode_command(await _body(request), command_id)
            except wire.WireError as error:
                return _answer(refused(command_id, error.code, error.message))
            return _answer(await self._service.submit(command, actor))

        return await self._as_actor(request, work)

    async def status(self, command_id: str, request: Request) -> Response:
        async def work(actor: Actor) -> Response:
            return _answer(await self._service.status(command_id, actor), asked=True)

        return await self._as_actor(request, work)

    async def abandon(self, command_id: str, request: Request) -> Response:
        async def work(actor: Actor) -> Response:
            if not wire.is_travelling_id(command_id):
                return _problem(400, "invalid", "This can be no id.")
            return _answer(await self._service.abandon(command_id, actor), asked=True)

        return await self._as_actor(request, work)

    async def settle(self, command_id: str, request: Request) -> Response:
        async def work(actor: Actor) -> Response:
            fields = await _fields(request)
            happened, note = fields.get("happened"), fields.get("note")
            if not isinstance(happened, bool) or not isinstance(note, str):
                return _problem(400, "invalid", "A statement has happened, which is true or false, and a note.")
            if unknown := sorted(fields.keys() - {"happened", "note", "data"}):
                return _problem(400, "invalid", f"A statement has no {', '.join(unknown)[:200]}.")
            data = fields.get("data")
            result = await self._service.settle(command_id, actor, happened=happened, note=note, data=data)
            return _answer(result, asked=True)

        return await self._as_actor(request, work)

    async def preview(self, request: Request) -> Response:
        async def work(actor: Actor) -> Response:
            fields = await _fields(request)
            type_, input_ = fields.get("type"), fields.get("input")
            if not isinstance(type_, str) or not isinstance(input_, dict):
                return _problem(400, "invalid", "A preview needs a type and an input, which is an object.")
            try:
                preview = await self._service.preview(type_, input_, actor)
            except CapabilityError as error:
                return _problem(422, error.code, error.hint)
            return _json({"facts": preview.facts, "version": preview.version})

        return await self._as_actor(request, work)

    async def find_open(self, request: Request) -> Response:
        async def work(actor: Actor) -> Response:
            try:
                command = wire.decode_command(await _body(request), "open")
            except wire.WireError as error:
                return _problem(400, error.code, error.message)
            record = await self._service.find_open(command, actor)
            if record is None:
                return Response(status_code=204, headers=_HEADERS)
            return Response(wire.encode_record(record), media_type=wire.RESULT_TYPE, headers=_HEADERS)

        return await self._as_actor(request, work)

    async def history(self, request: Request) -> Response:
        async def work(actor: Actor) -> Response:
            asked = request.query_params
            if any("\x00" in value for value in asked.values()):
                return _problem(400, "invalid", "A question has no NUL.")
            whose = asked.get("actor")
            if OPERATE not in actor.permissions and whose not in (None, actor.name):
                return _problem(403, "denied", "This actor sees only what it did itself.")
            if OPERATE not in actor.permissions:
                whose = actor.name
            entries = await self._service.history(
                command_id=asked.get("commandId"),
                type_=asked.get("type"),
                actor=whose,
                before=_number(asked.get("before")),
                limit=_number(asked.get("limit")) or 100,
            )
            return Response(wire.encode_audit(entries), media_type=wire.RESULT_TYPE, headers=_HEADERS)

        return await self._as_actor(request, work)

    async def health(self) -> Response:
        try:
            self._service.facts  # noqa: B018 - raises when the service was not started
            answer = await self._service.status("health")
        except CommandError as error:
            return _problem(503, error.code, "The store is not open.")
        if answer.status is CommandStatus.REFUSED:  # whether there is such an id is all the same
            return _problem(503, answer.code, "The store does not answer.")
        return _json({"status": "ok"})

    async def _as_actor(self, request: Request, work: Callable[[Actor], Awaitable[Response]]) -> Response:
        try:
            return await work(await self._actor(request))
        except _Stopped as stopped:
            return stopped.response
        except CommandError as error:
            _log.warning("%s %s: %s", request.method, request.url.path, error)
            return _problem(503, error.code, "The store could not do it.")

    async def _actor(self, request: Request) -> Actor:
        """Return whose token it is; nothing of the body is read before."""
        scheme, _, token = (_single(request, "authorization") or "").partition(" ")
        actor: Any = None
        if scheme.lower() == "bearer" and token.strip():
            actor = self._authenticate(token.strip())
            if inspect.isawaitable(actor):
                actor = await actor
        if not isinstance(actor, Actor):
            stopped = _Stopped(401, "unauthenticated", "A valid bearer token is needed.")
            stopped.response.headers["WWW-Authenticate"] = "Bearer"
            raise stopped
        return actor


def _answer(result: CommandResult, *, asked: bool = False) -> Response:
    """Return a result as a response; to a question, ``executing`` is an answer like any other and no conflict."""
    status = wire.http_status(result)
    if asked and result.status is CommandStatus.EXECUTING:
        return Response(result.encode(), media_type=wire.RESULT_TYPE, headers=_HEADERS)
    kind = wire.RESULT_TYPE if status < 300 else wire.PROBLEM_TYPE
    response = Response(wire.encode_answer(result), status_code=status, media_type=kind, headers=_HEADERS)
    if status in (409, 503):
        response.headers["Retry-After"] = "1"
    return response


async def _body(request: Request) -> bytes:
    """Read a body and stop where it is too long."""
    read = bytearray()
    async for piece in request.stream():
        read += piece
        if len(read) > wire.MAX_BODY:
            raise _Stopped(413, "too_large", f"A body has at most {wire.MAX_BODY} bytes.")
    return bytes(read)


async def _fields(request: Request) -> dict[str, Any]:
    try:
        return wire.decode_object(await _body(request))
    except wire.WireError as error:
        raise _Stopped(400, error.code, error.message) from error


def _single(request: Request, name: str) -> str | None:
    """Return a header that may be there once; two of it are none, since nobody knows which one counts."""
    values = request.headers.getlist(name)
    return values[0] if len(values) == 1 else None


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise _Stopped(400, "invalid", "limit and before are numbers.")
    return int(text)


def _host(header: str) -> str:
    host = header.lower()
    return host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]


def _problem(status: int, code: str, detail: str) -> Response:
    body = {"title": str(code), "status": status, "detail": detail}
    return _json(body, status=status, kind=wire.PROBLEM_TYPE)


def _json(body: dict[str, Any], *, status: int = 200, kind: str = wire.RESULT_TYPE) -> Response:
    return Response(wire.encode_json(body), status_code=status, media_type=kind, headers=_HEADERS)
