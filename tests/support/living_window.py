"""A window whose process goes on living with a question open and a change under way: ``... living_window URL``.

It says ``ready`` when both are, and ends when its input does, or is killed.
"""

import asyncio
import sys
from typing import Any

from agentic_qt.commands.values import Command
from agentic_qt.core.call import Call
from agentic_qt.core.capability import Capability, Risk
from tests.support.command_kit import ANN, make_service
from tests.support.desk_kit import Window, open_window


def add_form(window: Window, save: Any) -> None:
    """Register a change that submits no command."""
    window.registry.register(
        Capability(
            name="form.save",
            description="Save the form",
            input_schema={"type": "object", "additionalProperties": False},
            risk=Risk.MUTATING,
            handler=save,
        )
    )


async def main(url: str) -> None:
    """Open the window, ask, begin, and wait."""
    asked, begun = asyncio.Event(), asyncio.Event()

    async def save() -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    async with make_service(url) as service:
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        window = open_window(service)
        add_form(window, save)
        approvals = window.registry.approvals
        window.answer = lambda request: approvals.approve(request) if request.name == "form.save" else asked.set()
        calls = [
            asyncio.ensure_future(window.delete(id="d", client="assistant", run="r")),
            asyncio.ensure_future(window.registry.execute(Call(name="form.save", actor="ann", id="s"))),
        ]
        await asyncio.gather(asked.wait(), begun.wait())
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        window.registry.close()
        await asyncio.wait(calls)
        await window.desk.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
