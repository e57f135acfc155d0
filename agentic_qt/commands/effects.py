"""External effects (mail, payment): they can never be exactly once from our side, so they may end ``unknown``.

The claim is committed before the effect begins, the command id goes along as the other side's idempotency key, and a
resolver asks the other side later. Handlers run on the caller's loop.
"""

import asyncio
import logging
from collections.abc import Callable

from agentic_qt.commands.command_type import CommandType, Effect, EffectHandler
from agentic_qt.commands.errors import EffectUnknown
from agentic_qt.commands.judging import MAX_RESULT, make_result, result_of_failure, unknown
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.values import Actor, Command, CommandResult
from agentic_qt.core.errors import CapabilityError
from agentic_qt.schema.canonical import InputError, freeze

_log = logging.getLogger("agentic_qt.commands.effects")


async def run_effect(
    kind: CommandType, command: Command, actor: Actor, handler: EffectHandler, *, clock: Callable[[], float]
) -> CommandResult:
    """Run the handler, or the resolver, of an external effect within its budget and say how it ended.

    Args:
        kind: The command's type.
        command: What is executed.
        actor: Who acts.
        handler: `CommandType.effect` or `CommandType.resolve`.
        clock: Seconds since the epoch.
    """
    try:
        async with asyncio.timeout(kind.budget):
            data = await handler(Effect(command_id=command.command_id, input=command.data(), actor=actor))
    except CapabilityError as error:
        if error.applied is None:
            return unknown(command, actor.name, at=clock())
        try:
            return result_of_failure(command, actor.name, error, at=clock())
        except (TypeError, ValueError):
            _log.exception("Effect %s (%s) failed in words that cannot be stored", command.command_id, kind.name)
            return unknown(command, actor.name, at=clock())
    except EffectUnknown:
        return unknown(command, actor.name, at=clock())
    except (Exception, asyncio.CancelledError, GeneratorExit):  # a time-out too
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise  # it was not the handler: the loop ends, and the claim becomes unknown when its time is over
        _log.exception("Nobody knows what became of effect %s (%s)", command.command_id, kind.name)
        return unknown(command, actor.name, at=clock())
    try:
        data = freeze(data, max_bytes=MAX_RESULT)[1]
    except InputError:
        _log.exception("Effect %s (%s) happened and returned what is no JSON", command.command_id, kind.name)
        data = None
    return make_result(command, actor.name, CommandState.SUCCEEDED, at=clock(), data=data)
