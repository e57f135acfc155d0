"""Requests that are sent again: only where nothing ran, with back-off, visible and stoppable."""

import asyncio
import json
import time
from typing import Any

import pytest

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.client.retries import LONGEST_WAIT, RetryPlanned, wait_before
from tests.support.asking import ANSWER, HELLO
from tests.support.http_server import ReplayServer, Reply

pytestmark = pytest.mark.anyio


def busy(status: int = 503, **headers: str) -> Reply:
    words = "slow down" if status == 429 else "busy"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, content_type="application/json", body=json.dumps({"error": words}), headers=named)


async def ask(server: ReplayServer, told: list[RetryPlanned], **settings: Any) -> str:
    model = OpenAIChatModel(model="m", base_url=server.url, **settings)
    model.observe_retries(told.append)
    try:
        return "".join([delta.text async for delta in model.stream(HELLO, [])])
    finally:
        await model.aclose()


@pytest.mark.parametrize(
    ("code", "attempt", "retry_after", "wait"),
    [
        ("server", 1, None, 0.5),
        ("server", 2, None, 1.0),
        ("server", 9, None, LONGEST_WAIT),
        ("offline", 1, None, 0.0),
        ("offline", 2, None, 1.0),
        ("rate_limit", 1, 7.0, 7.0),
        ("rate_limit", 2, 0.0, 0.0),
        ("rate_limit", 1, LONGEST_WAIT + 1, None),
        ("timeout", 1, None, None),
        ("context_length", 1, None, None),
        ("authentication", 1, 1.0, None),
        ("bad_request", 1, None, None),
        ("no_tool_support", 1, None, None),
        ("provider", 1, None, None),
    ],
)
def test_the_wait_follows_the_provider_or_doubles(
    code: str, attempt: int, retry_after: float | None, wait: float | None
) -> None:
    assert wait_before(attempt, ChatModelError(code, retry_after=retry_after)) == wait


async def test_each_wait_is_told_before_it_begins() -> None:
    """FC-55: the person sees why nothing happens, and for how long."""
    told: list[RetryPlanned] = []
    async with ReplayServer(busy(), busy(429, retry_after_ms="10"), Reply(body=ANSWER)) as server:
        assert await ask(server, told) == "Hello"
    assert [(retry.attempt, retry.of, retry.wait, retry.code) for retry in told] == [
        (1, 2, 0.5, "server"),
        (2, 2, 0.01, "rate_limit"),
    ]
    assert [retry.message for retry in told] == ["busy", "slow down"]


async def test_a_request_is_not_sent_more_often_than_allowed() -> None:
    told: list[RetryPlanned] = []
    async with ReplayServer(busy(retry_after_ms="1")) as server:
        with pytest.raises(ChatModelError) as caught:
            await ask(server, told, max_retries=3)
        assert caught.value.code == "server"
        assert (len(server.requests), len(told)) == (4, 3)


async def test_stop_during_the_wait_ends_at_once_and_sends_nothing_more() -> None:
    """FC-54, G25."""
    waiting = asyncio.Event()
    async with ReplayServer(busy(retry_after="9")) as server:
        model = OpenAIChatModel(model="m", base_url=server.url)
        model.observe_retries(lambda _: waiting.set())

        async def read() -> None:
            async for _ in model.stream(HELLO, []):
                pass

        task = asyncio.ensure_future(read())
        await asyncio.wait_for(waiting.wait(), 20)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 0.1
        assert len(server.requests) == 1
        await model.aclose()


async def test_an_answer_that_has_begun_is_never_asked_for_again() -> None:
    """G26: what came may have run; a cut stream is told as cut."""
    told: list[RetryPlanned] = []
    async with ReplayServer(Reply(body=ANSWER[:1], cut=True), Reply(body=ANSWER)) as server:
        assert await ask(server, told) == "Hel"
        assert (len(server.requests), told) == (1, [])


async def test_an_observer_that_left_is_told_nothing() -> None:
    told: list[RetryPlanned] = []
    async with ReplayServer(busy(retry_after_ms="1"), Reply(body=ANSWER)) as server:
        model = OpenAIChatModel(model="m", base_url=server.url)
        model.observe_retries(told.append)()
        assert [delta.text async for delta in model.stream(HELLO, [])][:2] == ["Hel", "lo"]
        await model.aclose()
    assert told == []
