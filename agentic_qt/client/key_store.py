"""Keys of chat models in the system's keyring, one for each application and address; optional (extra ``keyring``).

A keyring asks its person to unlock it and may take as long as it likes, so each access is in a thread and has a bound.
Nothing that is said here, logged or raised holds a key: of what a keyring raises, only the kind is told.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlsplit

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.endpoint import whole_url

_log = logging.getLogger("agentic_qt.client.key_store")
_T = TypeVar("_T")
_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agentic_qt.keyring")
"""Not the loop's own threads: the end of the loop waits for those, and a keyring may be waiting for its person."""
_RECOMMENDED = 1
"""The least priority of a keyring that guards what it holds, on keyring's own scale: a file in the clear has less."""


class KeyStoreError(Exception):
    """The keyring cannot be used.

    Attributes:
        code: ``missing`` (the library is not installed), ``no_backend`` (there is no keyring that guards anything),
            ``locked``, ``timeout`` (it did not answer; what was asked may still happen) or ``failed``.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class KeyStore:
    """The system's keyring, as one application uses it.

    Args:
        application: Under whose name the keys are kept: no other application's are seen.
        within: Seconds for one access, a person's unlocking included.
    """

    def __init__(self, application: str, *, within: float = 60.0) -> None:
        self._service = f"{application} (agentic_qt)"
        self._within = within

    async def check(self) -> None:
        """See whether there is a keyring, without asking it for anything.

        Raises:
            KeyStoreError: There is none that can be used.
        """
        await self._ask(bool)

    async def read(self, address: str) -> str:
        """Return the key for an address; empty when none is kept.

        Raises:
            KeyStoreError: It cannot be read.
        """
        found = await self._ask(lambda keyring: keyring.get_password(self._service, origin(address)))
        return found or ""

    async def write(self, address: str, key: str) -> None:
        """Keep the key for an address, in place of an earlier one.

        Raises:
            KeyStoreError: It cannot be kept.
        """
        await self._ask(lambda keyring: keyring.set_password(self._service, origin(address), key))

    async def forget(self, address: str) -> None:
        """Remove the key for an address, if there is one.

        Raises:
            KeyStoreError: It cannot be removed.
        """

        def remove(keyring: Any) -> None:
            if keyring.get_password(self._service, origin(address)) is not None:
                keyring.delete_password(self._service, origin(address))

        await self._ask(remove)

    async def key_for_request(self, address: str) -> str:
        """Return the key for an address, for a request that needs it now.

        Raises:
            ChatModelError: It cannot be read; code ``key_unavailable``.
        """
        try:
            return await self.read(address)
        except KeyStoreError as error:
            raise ChatModelError(
                "key_unavailable",
                f"The system keyring did not give the key: {error.code}.",
                remedy="Unlock the keyring and try again, or write the key in the settings.",
            ) from None

    async def _ask(self, work: Callable[[Any], _T]) -> _T:
        try:
            async with asyncio.timeout(self._within):
                # No arguments: debug logs show those of what is run in a thread, and one of them is a key.
                answer, problem = await asyncio.get_running_loop().run_in_executor(_worker, lambda: _attempt(work))
        except TimeoutError:
            problem = "timeout"
        if problem:
            raise KeyStoreError(problem)
        return answer  # type: ignore[return-value] # there is an answer where there is no problem


def origin(address: str) -> str:
    """Return scheme, host and port of an address, to which a key belongs; empty when there is none.

    Args:
        address: A base URL, as a person may write it.
    """
    try:
        parts = urlsplit(whole_url(address))
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        return ""
    host = parts.hostname or ""
    if not host or not port or parts.scheme not in ("http", "https"):
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _attempt(work: Callable[[Any], _T]) -> tuple[_T | None, str]:
    """Do it in this thread; returns the answer, or none and the code of what is wrong."""
    try:
        keyring = _backend()
        return (work(keyring), "") if keyring is not None else (None, "no_backend")
    except ImportError:
        return None, "missing"
    except Exception as error:  # whatever a keyring of the system raises
        kind = type(error).__name__
        _log.warning("The system keyring failed: %s", kind)
        return None, "locked" if kind == "KeyringLocked" else "failed"


def _backend() -> Any:
    """Return the system's keyring; None when there is none that guards what it is given."""
    import keyring  # the lazy door: optional, and it looks for the system's services

    backend = keyring.get_keyring()
    # A chain of several passes on to its first.
    first = next(iter(getattr(backend, "backends", ())), backend)
    return backend if first.priority >= _RECOMMENDED else None
