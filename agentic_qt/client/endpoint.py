"""The address of a chat model: made whole, and named for a person. Connects to nothing."""

import ipaddress
from urllib.parse import urlsplit


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
