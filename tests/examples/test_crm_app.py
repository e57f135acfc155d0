"""The customer application with its assistant: how the parts are put together."""

import asyncio
import json

import pytest

from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.call import Call, Status
from agentic_qt.core.registry import Registry
from agentic_qt.testing.scripted import ScriptedModel, tool
from examples.crm import chat_model
from examples.crm.app import build
from examples.crm.backend import open_backend
from examples.crm.chat_model import Chosen, NoModelNameError, choose_chat_model, with_model_name
from examples.crm.headless import Errand, run_errand
from examples.crm.prompts import INSTRUCTIONS, SUGGESTED
from examples.crm.tour import TourModel
from tests.support.http_server import ReplayServer, Reply

pytestmark = pytest.mark.anyio
SECONDS = 20
UPDATE = {"customer": "Ada Lovelace", "field": "email", "value": "ada@example.com"}


@pytest.fixture
def parts(built):
    return built.window, built.assistant


def when_asked(assistant, answer):
    def told(event):
        if event.change is ApprovalChange.ADDED:
            asyncio.get_running_loop().call_soon(answer, event.request)

    assistant.registry.approvals.observe(told)


async def test_assistant_has_the_eleven_capabilities_while_the_window_is_shown(parts):
    window, assistant = parts
    assert len(assistant.registry.visible) == 11
    window.hide()
    assert assistant.registry.visible == ()
    window.show()
    assert len(assistant.registry.visible) == 11


async def test_run_changes_the_customer_that_the_person_sees(parts):
    window, assistant = parts
    model = ScriptedModel([tool("customer.update", UPDATE), "The address is changed."])
    assistant.chat_model = model
    when_asked(assistant, assistant.registry.approvals.approve)
    end = await asyncio.wait_for(assistant.send(SUGGESTED[0]), SECONDS)
    assert end.text == "The address is changed."
    assert window.form.values()["email"] == "ada@example.com"
    assert model.requests[0].messages[0]["content"].startswith(INSTRUCTIONS)
    assert len(model.requests[0].tools) == 11


async def test_window_closed_with_an_approval_open_denies_it(parts):
    """FC-09"""
    window, assistant = parts
    assistant.chat_model = ScriptedModel([tool("customer.update", UPDATE), "Never said."])
    when_asked(assistant, lambda _request: window.close())
    await asyncio.wait_for(assistant.send(SUGGESTED[0]), SECONDS)
    assert assistant.registry.approvals.pending == ()
    assert window.store.customer(1).email == "ada.lovelace@example.org"


async def test_call_of_the_assistant_is_a_command_of_who_is_logged_in(parts, backend):
    _window, assistant = parts
    assistant.chat_model = ScriptedModel([tool("customer.update", UPDATE), "The address is changed."])
    when_asked(assistant, assistant.registry.approvals.approve)
    await asyncio.wait_for(assistant.send(SUGGESTED[0]), SECONDS)
    last = (await backend.service.history())[0]
    assert (last.event, last.type, last.actor) == ("succeeded", "customer.update", backend.actor.name)
    assert last.target == "customer:1"


async def test_open_dialog_of_the_person_keeps_the_assistant_out(parts):
    window, assistant = parts
    window.show_customer(3)
    window.actions_.delete.trigger()
    outcome = await assistant.registry.execute(Call(name="customer.open", input={"customer": "1"}))
    assert outcome.status is Status.UNAVAILABLE
    assert window.form.customer.id == 3


async def test_endpoint_comes_first_then_the_embedded_model_then_the_tour(monkeypatch):
    class Embedded:
        def __init__(self, *, examples):
            self.examples = examples

    monkeypatch.setattr(chat_model, "LocalChatModel", Embedded)
    monkeypatch.setattr(chat_model, "embedded_available", lambda: True)
    registry = Registry()
    by_url = choose_chat_model(registry, {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": " small "})
    assert isinstance(by_url.chat_model, OpenAIChatModel)
    assert (by_url.chat_model.label, by_url.chat_model.base_url) == ("small", "http://127.0.0.1:1/v1")
    assert isinstance(choose_chat_model(registry, {"OPENAI_API_KEY": "k"}).chat_model, OpenAIChatModel)
    embedded = choose_chat_model(registry, {"OPENAI_API_KEY": " ", "OPENAI_BASE_URL": ""})
    assert isinstance(embedded.chat_model, Embedded)
    assert embedded.badge == "on this computer, small and often wrong"
    monkeypatch.setattr(chat_model, "embedded_available", lambda: False)
    tour = choose_chat_model(registry, {})
    assert isinstance(tour.chat_model, TourModel)
    assert tour.badge == "no AI"


async def test_examples_of_the_capabilities_do_not_answer_what_the_demo_suggests(parts):
    """A model that is shown the answer has not been seen to find it."""
    _window, assistant = parts
    taught = {request for r in assistant.registry.visible for request, _ in r.capability.examples}
    assert not taught & set(SUGGESTED)


async def test_picture_shows_the_outcome_and_the_closing_words(parts, tmp_path, monkeypatch):
    """What streams in is shown a few milliseconds later: a picture has to wait for that."""
    window, assistant = parts
    assistant.chat_model = ScriptedModel([tool("customer.update", UPDATE), "The address is changed."])
    seen = {}

    def grab():
        transcript = assistant.panel.transcript
        waits = bool(assistant.registry.approvals.pending)
        seen["waiting" if waits else "end"] = (transcript.idle, transcript.toPlainText())
        return type(window).grab(window)

    monkeypatch.setattr(window, "grab", grab)
    errand = Errand(
        request="Set it",
        approve="all",
        screenshot=tmp_path / "end.png",
        approval_screenshot=tmp_path / "waiting.png",
    )
    chosen = Chosen(chat_model=assistant.chat_model, badge="played")
    code = await asyncio.wait_for(
        run_errand(
            errand, window=window, assistant=assistant, agent=assistant.agent, chosen=chosen, say=lambda _line: None
        ),
        SECONDS,
    )
    assert code == 0
    assert seen["waiting"][0]
    assert seen["end"][0]
    assert "Waiting for you" in seen["waiting"][1]
    assert "Running" not in seen["end"][1]
    assert seen["end"][1].rstrip().endswith("The address is changed.")


def models_of(*names):
    return Reply(body=json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]}))


async def test_endpoint_is_asked_for_its_model_when_none_is_named():
    async with ReplayServer(models_of("llama-small", "other")) as server:
        found = await with_model_name({"OPENAI_BASE_URL": server.url})
    assert found["OPENAI_MODEL"] == "llama-small"


async def test_nothing_is_asked_when_the_model_is_named_or_no_address_is():
    for environment in ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": "small"}, {"OPENAI_API_KEY": "k"}):
        assert await with_model_name(environment) is environment


@pytest.mark.parametrize("replies", [(models_of(),), ()])
async def test_endpoint_that_tells_no_model_is_answered_with_what_to_set(replies):
    """FC-56."""
    async with ReplayServer(*replies) as server:
        url = server.url
        if replies:
            with pytest.raises(NoModelNameError, match="Set OPENAI_MODEL"):
                await with_model_name({"OPENAI_BASE_URL": url})
    if not replies:  # nobody listens there any more
        with pytest.raises(NoModelNameError, match="could not be asked"):
            await with_model_name({"OPENAI_BASE_URL": url})


async def test_delete_of_the_assistant_that_is_executing_when_everything_is_closed_is_stored(
    qapp, path, settings, monkeypatch
):
    monkeypatch.setattr(chat_model, "embedded_available", lambda: False)
    backend = await open_backend(path)
    parts = build(backend, settings, {})
    parts.window.show()
    started = asyncio.Event()
    submit = backend.service.submit

    async def slow(command, actor):
        started.set()
        await asyncio.sleep(0)
        return await submit(command, actor)

    monkeypatch.setattr(backend.service, "submit", slow)
    when_asked(parts.assistant, parts.assistant.registry.approvals.approve)
    call = Call(name="customer.delete", input={"customer": "Alan Turing"}, actor=backend.actor.name)
    running = asyncio.ensure_future(parts.assistant.registry.execute(call))
    await asyncio.wait_for(started.wait(), SECONDS)
    parts.window.close()
    parts.assistant.detach()
    await parts.desk.close()
    await asyncio.wait_for(running, SECONDS)
    await backend.close()
    again = await open_backend(path)
    try:
        assert [entry.event for entry in await again.service.history(type_="customer.delete")] == ["succeeded"]
        assert len(again.store.customers()) == 239
        assert await again.own.proposals.open() == ()
    finally:
        await again.close()
