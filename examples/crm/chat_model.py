"""Which chat model the demo talks to: a configured one, the small one on this computer, or a scripted tour."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.discovery import probe
from agentic_qt.client.few_shot import examples_of
from agentic_qt.client.local import LocalChatModel, embedded_available
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.registry import Registry
from examples.crm.tour import TourModel

_DEFAULT_MODEL = "gpt-4.1-mini"


class NoModelNameError(Exception):
    """The endpoint that was configured does not tell which model to use; the message says what to set."""


async def with_model_name(environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return `environment`, with ``OPENAI_MODEL`` taken from the endpoint's own list where only its URL is set.

    Raises:
        NoModelNameError: It lists no model, or cannot be asked.
    """
    base_url = environment.get("OPENAI_BASE_URL", "").strip()
    if not base_url or environment.get("OPENAI_MODEL", "").strip():
        return environment
    endpoint = await probe(base_url, environment.get("OPENAI_API_KEY", ""))
    if endpoint.models:
        return {**environment, "OPENAI_MODEL": endpoint.models[0]}
    reason = "it lists no models" if endpoint.error is None else f"it could not be asked: {endpoint.error.message}"
    raise NoModelNameError(
        f"OPENAI_MODEL is not set, and {endpoint.host} does not tell which model to use ({reason}). "
        "Set OPENAI_MODEL to the name of a model, or unset OPENAI_BASE_URL to use the model on this computer."
    )


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A chat model, and what the person is told about it."""

    chat_model: ChatModel
    badge: str


def choose_chat_model(registry: Registry, environment: Mapping[str, str] = os.environ) -> Chosen:
    """Return the chat model of the demo.

    ``OPENAI_BASE_URL`` or ``OPENAI_API_KEY`` (and ``OPENAI_MODEL``, see `with_model_name`) name an endpoint and come
    first. Then the embedded
    model, where its engine and its weights are installed. Then a scripted tour, which says that it is no AI.
    """
    base_url, key = environment.get("OPENAI_BASE_URL", ""), environment.get("OPENAI_API_KEY", "")
    if base_url.strip() or key.strip():
        model = environment.get("OPENAI_MODEL", "").strip() or _DEFAULT_MODEL
        endpoint = OpenAIChatModel(model=model, base_url=base_url or None, api_key=key)
        return Chosen(chat_model=endpoint, badge="your endpoint")
    if embedded_available():
        embedded = LocalChatModel(examples=lambda: examples_of(registry))
        return Chosen(chat_model=embedded, badge="on this computer, small and often wrong")
    return Chosen(chat_model=TourModel(), badge="no AI")
