"""What an endpoint is, found out by asking it: nothing is assumed, and nothing is asked before somebody wants to know.

Nobody calls this at import or when an assistant is attached: a view asks the person first. Only the addresses that
are given, or this machine's loopback ports, are connected to.
"""

import asyncio
from collections.abc import Iterable

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.endpoint import Endpoint
from agentic_qt.client.openai import OpenAIChatModel

LOCAL_PORTS = (11434, 1234, 8080, 8000)
"""Where Ollama, LM Studio, llama.cpp and vLLM listen unless told otherwise."""


async def probe(base_url: str, api_key: str = "", *, timeout: float = 10.0) -> Endpoint:  # noqa: ASYNC109 - an agreed name
    """Ask an endpoint for its models: one GET, which costs nothing there.

    Args:
        base_url: Of the API, usually ending with ``/v1``.
        api_key: White space in it is dropped; empty for servers without keys.
        timeout: Seconds.

    Returns:
        What is there; that nothing is, or that it refused, is told in its `error` and not raised.
    """
    model = OpenAIChatModel(model="", base_url=base_url, api_key=api_key)
    has_key = bool("".join(api_key.split()))
    try:
        models = await model.list_models(within=timeout)
    except ChatModelError as error:
        refused = error.code == "authentication"
        return Endpoint(base_url=model.base_url, needs_key=True if refused else None, error=error)
    finally:
        await model.aclose()
    return Endpoint(base_url=model.base_url, models=models, needs_key=None if has_key else False)


async def discover_local(
    ports: Iterable[int] = LOCAL_PORTS,
    timeout: float = 0.3,  # noqa: ASYNC109 - an agreed name
) -> tuple[Endpoint, ...]:
    """Look for chat models on this machine, all ports at the same time.

    Args:
        ports: TCP ports on 127.0.0.1.
        timeout: Seconds for each.

    Returns:
        Those that list models, or that want a key before they do, in the order of the ports.
    """
    addresses = [f"http://127.0.0.1:{port}/v1" for port in dict.fromkeys(ports)]
    found = await asyncio.gather(*(probe(address, timeout=timeout) for address in addresses))
    return tuple(endpoint for endpoint in found if endpoint.error is None or endpoint.needs_key)
