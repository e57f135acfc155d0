"""Which chat model the demo talks to: a configured one, the small one on this computer, or a scripted tour."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from agentic_qt.client.local import LocalChatModel, embedded_available

from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.few_shot import examples_of
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.registry import Registry
from examples.crm.tour import TourModel

_DEFAULT_MODEL = "gpt-4.1-mini"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A chat model, and what the person is told about it."""

    chat_model: ChatModel
    badge: str


def choose_chat_model(registry: Registry, environment: Mapping[str, str] = os.environ) -> Chosen:
    """Return the chat model of the demo.

    ``OPENAI_BASE_URL`` or ``OPENAI_API_KEY`` (and ``OPENAI_MODEL``) name an endpoint and come first. Then the embedded
    model, where its engine and its weights are installed. Then a scripted tour, which says that it is no AI.
    """
    base_url, key = environment.get("OPENAI_BASE_URL", ""), environment.get("OPENAI_API_KEY", "")
    if base_url.strip() or key.strip():
        model = environment.get("OPENAI_MODEL", "").strip() or _DEFAULT_MODEL
        endpoint = OpenAIChatModel(model=model, base_url=base_url or None, api_key=key)
        return Chosen(chat_model=endpoint, badge="your endpoint")
    if embedded_available():
        embedded = LocalChatModel(examples=lambda: examples_of(registry))
        return Chosen(chat_model=embedded, badge="SmolLM2 135M, on this computer, small and often wrong")
    return Chosen(chat_model=TourModel(), badge="no AI")
