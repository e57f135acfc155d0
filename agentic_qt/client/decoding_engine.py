"""Asks llama.cpp's own server for probabilities: what no chat completion tells.

It talks HTTP to the loopback address that it was given, one request for each connection, without a thread and without a
package; giving up closes the connection, which makes the server stop too.
"""

import asyncio
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from agentic_qt.client.chat_model import ChatModelError

_PATIENCE = 60.0
_MOST_BYTES = 8_000_000
_LIKELIEST = 400
_UNLIKELY = -14.0  # natural logarithm: what is not among the likeliest
_MOST_WORDS = 4096

Tokens = tuple[int, ...]


class Engine:
    """Answers about one process's model.

    Args:
        base_url: ``http://127.0.0.1:port``, with or without ``/v1``.
        key: That the server wants.

    Attributes:
        tokens_read: Of input, not counting what the server still knew.
        tokens_written: Of output.
    """

    def __init__(self, base_url: str, key: str) -> None:
        address = urlsplit(base_url)
        self._host, self._port, self._key = address.hostname or "127.0.0.1", address.port or 80, key
        self._known: dict[str, Tokens] = {}
        self.tokens_read = 0
        self.tokens_written = 0

    async def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text; short texts are remembered.

        Raises:
            ChatModelError: The process failed or is gone.
        """
        if text in self._known:
            return self._known[text]
        answer = await self._post("/tokenize", {"content": text, "parse_special": True})
        found = tuple(int(token) for token in answer["tokens"])
        if len(self._known) >= _MOST_WORDS:
            self._known.clear()
        self._known[text] = found
        return found

    async def following(self, prompt: Sequence[int], wanted: Sequence[int]) -> dict[int, float]:
        """Return the natural logarithm of the probability that each wanted token is the next."""
        answer = await self._complete(prompt, n_predict=1, n_probs=_LIKELIEST)
        if "completion_probabilities" not in answer:  # in the middle of a character the server keeps them to itself
            return dict.fromkeys(wanted, -math.log(len(wanted)))
        told = answer["completion_probabilities"][0]["top_logprobs"]
        known = {entry["id"]: max(float(entry["logprob"]), _UNLIKELY) for entry in told}
        return {token: known.get(token, _UNLIKELY) for token in wanted}

    async def write(self, prompt: Sequence[int], *, most: int, stop: Sequence[str]) -> str:
        """Return what the model goes on with, at temperature 0.

        Args:
            prompt: Tokens.
            most: Tokens of the answer.
            stop: Texts that end it.
        """
        answer = await self._complete(prompt, n_predict=most, stop=list(stop))
        return str(answer["content"])

    async def weigh(self, prompt: Sequence[int], lines: Mapping[str, Tokens], *, among: bool) -> dict[str, float]:
        """Return the natural logarithm of the probability of lines, up to where each is told from all others.

        Args:
            prompt: What stands before.
            lines: By any name.
            among: Whether only these lines are possible; else the probability is that of the model's free choice.
        """
        totals = dict.fromkeys(lines, 0.0)
        waiting: list[tuple[Tokens, list[str]]] = [((), list(lines))]
        while waiting:
            begun, members = waiting.pop()
            branches: dict[int, list[str]] = {}
            for name in members:
                if len(lines[name]) > len(begun):
                    branches.setdefault(lines[name][len(begun)], []).append(name)
            if len(branches) > 1 or (not begun and not among):
                odds = await self.following([*prompt, *begun], list(branches))
                whole = _log_sum(odds.values()) if among else 0.0
                for token, names in branches.items():
                    for name in names:
                        totals[name] += odds[token] - whole
            waiting += [((*begun, token), names) for token, names in branches.items() if len(names) > 1]
        return totals

    async def _complete(self, prompt: Sequence[int], **options: Any) -> dict[str, Any]:
        answer = await self._post(
            "/completion",
            {
                "prompt": list(prompt),
                "temperature": 0,
                "cache_prompt": True,
                "response_fields": ["content", "completion_probabilities", "timings"],
                **options,
            },
        )
        timings = answer.get("timings", {})
        self.tokens_read += int(timings.get("prompt_n", 0))
        self.tokens_written += int(timings.get("predicted_n", 0))
        return answer

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._exchange(path, json.dumps(body).encode())
        except TimeoutError as error:
            raise ChatModelError("timeout", "The embedded model did not answer.", remedy="Try again.") from error
        except (OSError, asyncio.IncompleteReadError, ValueError, KeyError) as error:
            raise ChatModelError(
                "offline", "The embedded model's process is gone.", remedy="Send the message again to start it again."
            ) from error

    async def _exchange(self, path: str, body: bytes) -> dict[str, Any]:
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=_MOST_BYTES)
        try:
            # HTTP/1.0: the answer comes in one piece and ends with the connection.
            writer.write(
                f"POST {path} HTTP/1.0\r\nHost: {self._host}\r\nAuthorization: Bearer {self._key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), None
            )
            content = await (
                reader.readexactly(min(length, _MOST_BYTES)) if length is not None else reader.read(_MOST_BYTES)
            )
        finally:
            writer.close()
        status = int(head.split(b" ", 2)[1])
        if status != 200:
            raise ChatModelError("server", f"The embedded model answered with status {status}.", remedy="Try again.")
        answer: dict[str, Any] = json.loads(content)
        return answer


def _log_sum(values: Iterable[float]) -> float:
    found = list(values)
    largest = max(found)
    return largest + math.log(sum(math.exp(value - largest) for value in found))
