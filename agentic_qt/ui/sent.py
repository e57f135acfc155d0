"""Remembers the last request to a chat model, so that a person can see what was sent. Changes nothing on the way."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agentic_qt.client.chat_model import ChatModel, Delta
from agentic_qt.protocol.tool_list import encode_json


class SentRequests:
    """A chat model that passes everything on to another one and remembers the last request.

    Args:
        chat_model: The other one; its own attributes are found here as well.
    """

    def __init__(self, chat_model: ChatModel) -> None:
        self.chat_model = chat_model
        self._messages: Sequence[Mapping[str, Any]] | None = None
        self._tools: Sequence[Mapping[str, Any]] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.chat_model, name)

    @property
    def label(self) -> str:
        """The other one's name."""
        return self.chat_model.label

    @property
    def host(self) -> str:
        """Where the other one is."""
        return self.chat_model.host

    @property
    def any(self) -> bool:
        """Whether anything was sent."""
        return self._messages is not None

    @property
    def text(self) -> str:
        """The body of the last request as it was sent: its bytes, read as UTF-8; empty before the first.

        A chat model without ``request_body`` sends none; what it was given is written out then.
        """
        if self._messages is None:
            return ""
        request_body = getattr(self.chat_model, "request_body", None)
        if callable(request_body):
            return encode_json(request_body(self._messages, self._tools)).decode()
        return encode_json({"messages": list(self._messages), "tools": list(self._tools)}).decode()

    def stream(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> AsyncIterator[Delta]:
        """Pass a request on."""
        self._messages, self._tools = tuple(messages), tools
        return self.chat_model.stream(messages, tools)

    async def aclose(self) -> None:
        """Pass it on."""
        await self.chat_model.aclose()

    def forget(self) -> None:
        """The conversation was cleared."""
        self._messages, self._tools = None, ()
