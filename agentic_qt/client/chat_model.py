"""The port to a chat model: what goes in, what comes out, and how it fails. No provider is named here."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentic_qt.core.errors import AgenticQtError


class ChatModelError(AgenticQtError):
    """The provider failed; the run ends.

    Args:
        code: ``authentication``, ``permission``, ``rate_limit``, ``offline``, ``timeout``, ``context_length``,
            ``model_not_found``, ``no_tool_support``, ``content_filter``, ``bad_request``, ``cut_stream``, ``server``,
            ``provider`` or ``key_unavailable`` (the keyring did not give it).
        message: What the provider said, shortened; for a person and never for the model.
        remedy: One English sentence: what would mend it.
        retry_after: Seconds, when the provider named them.
    """

    def __init__(self, code: str, message: str = "", *, remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.retry_after = retry_after


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens of one or more requests, as the provider counts them."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCallDelta:
    """A raw fragment of a tool call, as the provider sent it; only the assembler makes sense of it."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delta:
    """One chunk of a stream.

    Args:
        text: A piece of content.
        reasoning: A piece of the model's thoughts.
        tool_calls: Raw fragments.
        finish_reason: As sent; may come twice, or never.
        usage: Where reported.
        extra: Message fields that we do not know; kept and sent back.
        done: The stream said ``[DONE]``.
        error: An error event inside a stream that began well.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    done: bool = False
    error: ChatModelError | None = None


class ChatModel(Protocol):
    """Anything that streams an answer to a conversation."""

    @property
    def label(self) -> str:
        """The model's name, short, for the status line."""
        ...

    @property
    def host(self) -> str:
        """Where it is: a host name, or "local"."""
        ...

    def stream(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> AsyncIterator[Delta]:
        """Send the conversation and yield what comes back.

        Args:
            messages: OpenAI Chat Completions messages.
            tools: OpenAI function tools; may be empty.

        Raises:
            ChatModelError: The provider failed, before or during the stream.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections and processes; may be called twice."""
        ...
