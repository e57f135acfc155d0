"""What the tests of a chat model ask, and a small answer."""

import json
from typing import Any

from agentic_qt.client.assembler import Assembled, Assembler
from agentic_qt.client.openai import OpenAIChatModel
from tests.support.http_server import ReplayServer

HELLO = [{"role": "user", "content": "hello"}]


def chunk(delta: dict[str, Any], **fields: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": fields.pop("finish_reason", None)}
    return f"data: {json.dumps({'choices': [choice], **fields})}\n\n"


ANSWER = (chunk({"content": "Hel"}), chunk({"content": "lo"}, finish_reason="stop"), "data: [DONE]\n\n")


async def ask(
    server: ReplayServer, messages: Any = HELLO, tools: Any = (), url: str | None = None, **settings: Any
) -> Assembled:
    model = OpenAIChatModel(model="some-model", base_url=url or server.url, **settings)
    assembler = Assembler()
    try:
        async for delta in model.stream(messages, tools):
            assembler.feed(delta)
    finally:
        await model.aclose()
    return assembler.finish()
