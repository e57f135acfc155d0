"""Which key goes to which address: the one that was written for it, the keyring's, the environment's, and no other.

A key belongs to an origin (scheme, host and port); one of another origin is never sent along.
"""

import os
from collections.abc import Awaitable, Callable
from functools import partial

from agentic_qt.client.endpoint import whole_url
from agentic_qt.client.key_store import KeyStore, KeyStoreError, origin
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.ui.stored import Stored
from agentic_qt.ui.words import translate

ENVIRONMENT = "OPENAI_API_KEY"


class KnownKeys:
    """The keys of one application.

    Args:
        stored: Says for which origins a key is in the keyring, so that it is opened only when it is needed.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._keyring = KeyStore(stored.application)

    def in_keyring(self, address: str) -> bool:
        """Whether the key for an address is in the system's keyring."""
        return bool(origin(address)) and origin(address) in self._stored.keys

    def in_environment(self, address: str) -> bool:
        """Whether the key for an address is in the environment."""
        return bool(os.environ.get(ENVIRONMENT)) and whole_url(address) == environment_address()

    async def find(self, address: str, written: str) -> str:
        """Return the key for an address; empty when there is none.

        Args:
            address: Where it would go.
            written: What the person wrote for this address; it counts first.

        Raises:
            KeyStoreError: The keyring has it and does not give it.
        """
        if written or not self.in_keyring(address):
            return written or self._of_environment(address)
        return await self._keyring.read(address)

    def for_requests(self, address: str, written: str = "") -> str | Callable[[], Awaitable[str]]:
        """Return the key for an address, or what fetches it from the keyring before the first request."""
        if written or not self.in_keyring(address):
            return written or self._of_environment(address)
        return partial(self._keyring.key_for_request, address)

    async def unusable(self) -> str:
        """Return why nothing can be kept in the keyring, in words for people; empty when it can."""
        if not self._stored.lasting:
            return translate("agentic_qt", "This application keeps no settings, so it could not find the key again.")
        try:
            await self._keyring.check()
        except KeyStoreError as error:
            return keyring_words(error)
        return ""

    async def keep(self, address: str, key: str) -> None:
        """Put the key for an address into the keyring.

        Raises:
            KeyStoreError: It was not kept; with the code ``timeout`` it may have been.
        """
        try:
            await self._keyring.write(address, key)
        except KeyStoreError as error:
            if error.code != "timeout":  # else it may be there by now: it can be forgotten in the settings
                raise
            self._stored.keep_keys((*self._stored.keys, origin(address)))
            raise
        self._stored.keep_keys((*self._stored.keys, origin(address)))

    async def forget(self, address: str) -> None:
        """Remove the key for an address from the keyring.

        Raises:
            KeyStoreError: It is still there.
        """
        await self._keyring.forget(address)
        self._stored.keep_keys(kept for kept in self._stored.keys if kept != origin(address))

    def restored_chat_model(self) -> OpenAIChatModel | None:
        """Return the chat model that the person chose last; it connects to nothing by itself, nor opens the keyring."""
        chosen = self._stored.chat_model
        if chosen is None or not origin(chosen[0]):
            return None
        address, model = chosen
        return OpenAIChatModel(model=model, base_url=address, api_key=self.for_requests(address))

    def _of_environment(self, address: str) -> str:
        return os.environ[ENVIRONMENT] if self.in_environment(address) else ""


def environment_address() -> str:
    """Return where a chat model is by the environment; empty when it says nothing."""
    is_set = os.environ.get("OPENAI_BASE_URL") or os.environ.get(ENVIRONMENT)
    return OpenAIChatModel(model="").base_url if is_set else ""


def keyring_words(error: KeyStoreError) -> str:
    """Return what is the matter with the keyring, for people."""
    return {
        "missing": translate("agentic_qt", "This application was installed without support for the system keyring."),
        "no_backend": translate("agentic_qt", "This computer has no system keyring that could keep it."),
        "locked": translate("agentic_qt", "The system keyring is locked."),
        "timeout": translate("agentic_qt", "The system keyring did not answer."),
    }.get(error.code, translate("agentic_qt", "The system keyring failed."))
