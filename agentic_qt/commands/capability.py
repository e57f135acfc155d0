"""From the pipeline to commands: a capability whose handler submits a command and whose outcome is its result.

The preview reads the row and its version; the approval shows both and is bound to both. The command id is made before
anybody is asked. The same type, actor and payload while one is executing or unknown: that one's id and status.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_qt.commands.desk import CommandDesk, Draft, Key
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.projection import fact, is_final
from agentic_qt.commands.values import Actor, Code, Command, CommandResult, CommandStatus, Preview
from agentic_qt.core.capability import Capability, Risk
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.flight import CallContext
from agentic_qt.schema.canonical import canonical

TargetOf = Callable[[Mapping[str, Any]], str | None]
"""``target_of(input)``: which thing the command is about, such as ``"customer:7"``."""


def command_capability(
    desk: CommandDesk,
    name: str,
    *,
    description: str,
    input_schema: Mapping[str, Any],
    command_type: str | None = None,
    risk: Risk | str = Risk.DESTRUCTIVE,
    target_of: TargetOf | None = None,
    **declared: Any,
) -> Capability:
    """Return a capability that submits commands of a service.

    Args:
        desk: The registry's.
        name: Of the capability, such as ``"customer.delete"``.
        description: For the model.
        input_schema: The schema of the command type.
        command_type: The name of the command type, where it is another one.
        risk: ``destructive`` unless it can be undone by another command.
        target_of: Which thing an input is about; for people and for the order of the outbox.
        **declared: Further fields of `Capability`: title, available, target, examples, timeout, undoable.
    """
    desk.enter(command_type or name, name)
    adapter = _Adapter(desk=desk, type=command_type or name, target_of=target_of)
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

    async def preview(self, ctx: CallContext, **given: Any) -> dict[str, Any]:
        """Read what the person is shown; the facts hold the version, so that an approval is bound to it."""
        actor = self._actor(ctx)
        preview = await self._read(given, actor)
        draft = self._draft(ctx, given, preview, actor)
        await self._refuse_second(ctx, draft)
        facts = preview.facts if isinstance(preview.facts, dict) else {"now": preview.facts}
        return facts if preview.version is None else {**facts, "version": preview.version}

    async def handle(self, ctx: CallContext, **given: Any) -> Any:
        """Submit the command; what became of it is the outcome. Stop does not undo a fact, it only ends the wait."""
        key = _key(ctx)
        draft = self.desk.draft(key)
        if draft is None:  # by policy nobody had to be asked, so nothing was read yet
            await self.preview(ctx, **given)
            draft = self.desk.draft(key)
        else:
            await self._refuse_second(ctx, draft)
        if draft is None or draft.input != canonical(given):
            hint = "It is not what was read before. Read it again and plan again."
            raise CapabilityError("not_previewed", hint, status="stale")
        ctx.submits(draft.command_id)
        draft.submitted = True
        try:
            result = await _to_its_end(self._submit(draft))
        finally:
            self.desk.drop(key)
        if not is_final(result) and result.status is not CommandStatus.REFUSED:
            self.desk.watch(key, draft.command_id, draft)
        return fact(result)

    async def _submit(self, draft: Draft) -> CommandResult:
        try:
            result = await self.desk.service.submit(draft.to_command(), draft.actor)
        except CommandError as error:  # closed, or not what was approved: nothing was submitted
            retryable = error.code != "changed"
            raise CapabilityError(error.code, "The command could not be submitted.", retryable=retryable) from error
        await self.desk.follow(draft, result)
        return result

    async def _read(self, given: dict[str, Any], actor: Actor) -> Preview:
        try:
            return await self.desk.service.preview(self.type, given, actor)
        except CapabilityError as error:
            if error.code == Code.DENIED:
                raise CapabilityError(error.code, error.hint, status="forbidden") from error
            raise
        except CommandError as error:
            raise CapabilityError(error.code, "It could not be read now.", retryable=True) from error

    def _draft(self, ctx: CallContext, given: dict[str, Any], preview: Preview, actor: Actor) -> Draft:
        key = _key(ctx)
        draft = self.desk.draft(key)
        if draft is None:
            draft = Draft(
                command_id=self.desk.service.new_id(),
                type=self.type,
                input=canonical(given),
                target=None,
                version=None,
                actor=actor,
            )
            self.desk.keep(key, draft)
        draft.input, draft.version, draft.actor = canonical(given), preview.version, actor
        draft.target = None if self.target_of is None else self.target_of(given)
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
            command_id=found.command.command_id, type=draft.type, input=draft.input, target=draft.target,
            version=draft.version, actor=draft.actor,
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
