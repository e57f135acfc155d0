"""The same ids from several processes at once: each command happens once, and every process gets the same bytes.

``python -m tests.soak.commands_shared_ids --count 1000 --store postgresql``; the suite takes fewer ids.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import anyio

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import CommandStatus
from tests.support.command_kit import ANN, Inspector, add_entry, make_service
from tests.support.command_stores import STORES, stores

AT_ONCE = 4
"""How many ids a process submits at once."""


async def submit(service: CommandService, command_id: str) -> str:
    """Submit an id until it is known; returns the reply."""
    result = await service.submit(add_entry(command_id), ANN)
    while result.status is CommandStatus.EXECUTING or result.code == "busy":
        result = await service.submit(add_entry(command_id), ANN)
    return result.encode().decode()


async def submit_all(url: str, ids: list[str], file: Path) -> None:
    """Submit every id and write down the replies."""
    replies: dict[str, str] = {}
    async with make_service(url, busy_timeout=60.0) as service:
        for first in range(0, len(ids), AT_ONCE):
            several = ids[first : first + AT_ONCE]
            results = await asyncio.gather(*(submit(service, command_id) for command_id in several))
            replies |= dict(zip(several, results, strict=True))
    file.write_text(json.dumps(replies))  # noqa: ASYNC240 - nothing else runs here


def fork(url: str, ids: list[str], file: Path, seed: int) -> int:
    """Start a process that submits the ids in an order of its own."""
    process = os.fork()
    if process:
        return process
    try:
        own = list(ids)
        # neighbours only, so that the processes meet at the same ids
        for place in range(len(own) - 1):
            if random.Random(seed * 1_000_003 + place).random() < 0.5:
                own[place], own[place + 1] = own[place + 1], own[place]
        anyio.run(submit_all, url, own, file)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def main(arguments: list[str] | None = None) -> int:
    """Run the processes and print what they were told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many ids")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--store", choices=STORES, default="sqlite")
    options: Any = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    ids = [f"id-{number}" for number in range(options.count)]
    with stores(options.store) as (new_store, _), tempfile.TemporaryDirectory() as folder:
        url = new_store()
        files = [Path(folder) / f"replies-{number}" for number in range(options.processes)]
        processes = [fork(url, ids, file, seed) for seed, file in enumerate(files)]
        exits = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
        replies = [json.loads(file.read_text()) for file in files if file.exists()]
        entries = Inspector(url).entries()
    same = len(replies) == options.processes and all(reply == replies[0] for reply in replies)
    once = entries == dict.fromkeys(ids, 1)
    succeeded = bool(replies) and all(json.loads(reply)["status"] == "succeeded" for reply in replies[0].values())
    print(  # noqa: T201 - what this command is for
        f"{options.store}: {options.processes} processes x {options.count} ids: {sum(entries.values())} effects, "
        f"replies {'identical' if same else 'DIFFERENT'}, exits {exits}"
    )
    return 0 if same and once and succeeded and not any(exits) else 1


if __name__ == "__main__":
    sys.exit(main())
