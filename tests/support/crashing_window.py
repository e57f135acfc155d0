"""A window whose process ends at once at a labelled point: ``python -m tests.support.crashing_window URL POINT``.

``asked``: a person is being asked. ``approved``: the yes is written down, the handler has not begun. Any point of
`transactions.POINTS`: within the transaction of the delete.
"""

import asyncio
import os
import sys
from typing import Any

from agentic_qt.commands.values import Command
from tests.support.command_kit import ANN, make_service
from tests.support.desk_kit import open_window

CRASH = 9


def end(*_: Any) -> None:
    os._exit(CRASH)


async def main(url: str, point: str) -> None:
    deleting = False

    def fault(label: str) -> None:
        if deleting and label == point:
            end()

    async with make_service(url, faults=fault) as service:
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        window = open_window(service)
        submit = service.submit

        async def note_delete(*arguments: Any) -> Any:
            nonlocal deleting
            deleting = True
            return await submit(*arguments)

        service.submit = note_delete  # type: ignore[method-assign]
        if point == "asked":
            window.answer = end
        if point == "approved":
            service.journal.intent = end  # type: ignore[method-assign]
        await window.delete(id="d", client="assistant", run="r", reason="asked for")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
