"""The address of a chat model and what is known of it. Connects to nothing: `discovery` does."""

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agentic_qt.client.chat_model import ChatModelError


@dataclass(frozen=True, kw_only=True, slots=True)
class Abilities:
    """What an endpoint and its model have shown they can do: True or False once seen, None until then.

    Args:
        tools: It made a tool call; False: it said that it has no tools.
        parallel_calls: It made several in one answer.
        usage: It counts tokens in a stream; False: it refused to be asked.
    """

    tools: bool | None = None
    parallel_calls: bool | None = None
    usage: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """What was found at an address.

    Args:
        base_url: As it was asked.
        models: The names of its models, in its own order; empty where it lists none.
        needs_key: True: it refused to answer without one, or refused this one. False: it answered without.
            None: not known.
        error: Why it could not be asked, or what it answered instead; None when all is well.
        abilities: What its model has shown, put in by whoever talked to it (`OpenAIChatModel.abilities`); a probe does
            not chat, so it has seen nothing.
    """

    base_url: str
    models: tuple[str, ...] = ()
    needs_key: bool | None = None
    error: ChatModelError | None = None
    abilities: Abilities = field(default_factory=Abilities)

    @property
    def reachable(self) -> bool:
        """Whether anything answered there."""
        return self.error is None or self.error.code not in ("offline", "timeout")

    @property
    def host(self) -> str:
        """The host, named for a person."""
        return host_label(self.base_url)


def whole_url(text: str) -> str:
    """Return a base URL as a person wrote it with its white space dropped and its scheme supplied.

    Args:
        text: Such as ``localhost:11434/v1``; this machine is taken to speak http, anything else https.
    """
    url = "".join(text.split())
    if not url or "://" in url:
        return url
    return f"http://{url}" if is_loopback(urlsplit(f"//{url}").hostname or "") else f"https://{url}"


def host_label(url: str) -> str:
    """Return the host of a base URL, without credentials; ``local (host:port)`` for one on this machine."""
    parts = urlsplit(url)
    name = parts.hostname or ""
    if not is_loopback(name):
        return name
    return f"local ({name}:{parts.port})" if parts.port else f"local ({name})"


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address is this machine, without asking a name server."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
