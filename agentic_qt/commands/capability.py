"""From the pipeline to commands: a capability whose handler submits a command and whose outcome is its result.

The preview reads the row and its version; the approval shows both and is bound to both. The command id is made before
anybody is asked. The same type, actor and payload while one is executing or unknown: that one's id and status. A call
may say less than its command needs: ``input_of`` maps the one to the other, anew each time.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_qt.commands.command_type import forged_fields
from agentic_qt.commands.desk import CommandDesk, Draft, Key
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.projection import fact, is_final
from agentic_qt.commands.values import Actor, Code, Command, CommandResult, CommandStatus, Preview
from agentic_qt.core.call import CallCancelled
from agentic_qt.core.capability import Capability, Risk
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.flight import CallContext
from agentic_qt.schema.canonical import canonical

TargetOf = Callable[[Mapping[str, Any]], str | None]
"""``target_of(command's input)``: which thing the command is about, such as ``"customer:7"``."""
InputOf = Callable[[Mapping[str, Any]], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]
"""``input_of(call's input)``: which input the command gets, such as ``{"id": 1}`` for ``{"customer": "Ada"}``."""


def command_capability(
    desk: CommandDesk,
    name: str,
    *,
    description: str,
    input_schema: Mapping[str, Any],
    command_type: str | None = None,
    risk: Risk | str = Risk.DESTRUCTIVE,
    target_of: TargetOf | None = None,
    input_of: InputOf | None = None,
    **declared: Any,
) -> Capability:
    """Return a capability that submits commands of a service.

    Args:
        desk: The registry's.
        name: Of the capability, such as ``"customer.delete"``.
        description: For the model.
        input_schema: The schema of the call: that of the command type, unless there is an `input_of`.
        command_type: The name of the command type, where it is another one.
        risk: ``destructive`` unless it can be undone by another command.
        target_of: Which thing a command's input is about; for people and for the order of the outbox.
        input_of: Which input the command gets; by default the call's own. Sync or async; a `CapabilityError` of its own
            ends the call. It is asked in each preview and again before the command is submitted: another answer than
            before is ``stale``, code ``input_changed``.
        **declared: Further fields of `Capability`: title, available, target, examples, timeout, undoable.
    """
    desk.enter(command_type or name, name)
    adapter = _Adapter(desk=desk, type=command_type or name, target_of=target_of, input_of=input_of)
    return Capability(
        name=name,
        description=description,
        input_schema=input_schema,
        risk=risk,
        handler=adapter.handle,
        preview=adapter.preview,
        approver=desk.ask,
        **declared,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Adapter:
    desk: CommandDesk
    type: str
    target_of: TargetOf | None
    input_of: InputOf | None

    async def preview(self, ctx: CallContext, **given: Any) -> dict[str, Any]:
        """Read what the person is shown; the facts hold the version, so that an approval is bound to it."""
        actor = self._actor(ctx)
        said = canonical(given)
        meant = await self._meant(ctx, said)
        preview = await self._read(json.loads(meant), actor)
        draft = self._draft(ctx, said, meant, preview, actor)
        await self._refuse_second(ctx, draft)
        facts = preview.facts if isinstance(preview.facts, dict) else {"now": preview.facts}
        if preview.facts is None and meant != said:  # nothing else would show what the command gets
            facts["input"] = json.loads(meant)
        return facts if preview.version is None else {**facts, "version": preview.version}

    async def handle(self, ctx: CallContext, **given: Any) -> Any:
        """Submit the command; what became of it is the outcome. Stop does not undo a fact, it only ends the wait."""
        key = _key(ctx)
        try:
            draft = await self._ready(ctx, given)
        except asyncio.CancelledError as cancelled:  # nothing was submitted: that is known, whoever gave up the wait
            if ctx.cancel.cancelled:
                raise CallCancelled from cancelled
            hint = "It took too long before it was submitted; nothing was done."
            raise CapabilityError("timeout", hint, retryable=True) from cancelled
        ctx.submits(draft.command_id)
        draft.submitted = True
        try:
            result = await _to_its_end(self._submit(draft))
        finally:
            self.desk.drop(key)
        if not is_final(result) and result.status is not CommandStatus.REFUSED:
            self.desk.watch(key, draft.command_id, draft)
        return fact(result)

    async def _ready(self, ctx: CallContext, given: dict[str, Any]) -> Draft:
        """Return what is to be submitted, after a last look at what the call means and what is under way."""
        draft = self.desk.draft(_key(ctx))
        if draft is None:  # by policy nobody had to be asked, so nothing was read yet
            await self.preview(ctx, **given)
            draft = self.desk.draft(_key(ctx))
        else:
            await self._meant(ctx, canonical(given))
            await self._refuse_second(ctx, draft)
        if draft is None or draft.call_input != canonical(given):
            hint = "It is not what was read before. Read it again and plan again."
            raise CapabilityError("not_previewed", hint, status="stale")
        return draft

    async def _submit(self, draft: Draft) -> CommandResult:
        try:
            result = await self.desk.service.submit(draft.to_command(), draft.actor)
        except CommandError as error:  # closed, or not what was approved: nothing was submitted
            retryable = error.code != "changed"
            raise CapabilityError(error.code, "The command could not be submitted.", retryable=retryable) from error
        await self.desk.follow(draft, result)
        return result

    async def _meant(self, ctx: CallContext, said: bytes) -> bytes:
        """Return the input that the command gets for a call's; the same call may not come to mean something else."""
        if self.input_of is None:
            return said
        given = json.loads(said)
        if forged := forged_fields(given):
            hint = f"The input may not have {', '.join(forged)}: only trusted code says that."
            raise CapabilityError(str(Code.FORGED_FIELD), hint)
        try:
            found = self.input_of(given)
            meant = canonical(await found if inspect.isawaitable(found) else found)
        except CommandError as error:
            raise CapabilityError(error.code, "It could not be read now.", retryable=True) from error
        draft = self.desk.draft(_key(ctx))
        if draft is not None and draft.call_input == said and draft.input != meant:
            hint = "What the call names is something else by now. Look it up again and plan again."
            raise CapabilityError("input_changed", hint, status="stale")
        return meant

    async def _read(self, given: dict[str, Any], actor: Actor) -> Preview:
        try:
            return await self.desk.service.preview(self.type, given, actor)
        except CapabilityError as error:
            if error.code == Code.DENIED:
                raise CapabilityError(error.code, error.hint, status="forbidden") from error
            raise
        except CommandError as error:
            raise CapabilityError(error.code, "It could not be read now.", retryable=True) from error

    def _draft(self, ctx: CallContext, said: bytes, meant: bytes, preview: Preview, actor: Actor) -> Draft:
        key = _key(ctx)
        draft = self.desk.draft(key)
        if draft is None:
            draft = Draft(
                command_id=self.desk.service.new_id(),
                type=self.type,
                call_input=said,
                input=meant,
                target=None,
                version=None,
                actor=actor,
            )
            self.desk.keep(key, draft)
        draft.call_input, draft.input, draft.version, draft.actor = said, meant, preview.version, actor
        draft.target = None if self.target_of is None else self.target_of(draft.data())
        return draft

    async def _refuse_second(self, ctx: CallContext, draft: Draft) -> None:
        """End the call with the id and status of a command that is the same one and not yet known."""
        command = Command(
            command_id=draft.command_id,
            type=draft.type,
            input=draft.input,
            target=draft.target,
            expected_version=draft.version,
        )
        try:
            found = await self.desk.service.find_open(command, draft.actor)
        except CommandError as error:
            raise CapabilityError(error.code, "It could not be read now.", retryable=True) from error
        if found is None or found.command.command_id == draft.command_id:
            return
        key = _key(ctx)
        ctx.submits(found.command.command_id)
        self.desk.watch(key, found.command.command_id, Draft(
            command_id=found.command.command_id, type=draft.type, call_input=draft.call_input, input=draft.input,
            target=draft.target, version=draft.version, actor=draft.actor,
        ))  # fmt: skip
        hint = "The same command is under way already; nothing new was made. Ask for the status of this call."
        raise CapabilityError(str(Code.IN_PROGRESS), hint, applied=None, status="unknown")

    def _actor(self, ctx: CallContext) -> Actor:
        actor = self.desk.actor_of(ctx.actor)
        if actor is None:
            raise CapabilityError(str(Code.DENIED), "Nobody is signed in who may do that.", status="forbidden")
        return actor


async def _to_its_end(work: Coroutine[Any, Any, CommandResult]) -> CommandResult:
    """Await a command to its end, whatever is cancelled meanwhile: the pipeline gives up the wait, not the command."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    return task.result()


def _key(ctx: CallContext) -> Key:
    return (ctx.client, ctx.run, ctx.call_id)
