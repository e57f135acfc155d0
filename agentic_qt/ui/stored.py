"""What the assistant keeps between two starts: address and model, shortcuts, and for which addresses a key is kept.

In the application's own QSettings, group ``agentic_qt``. A key is never written here, nor an address that holds one.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from PySide6.QtCore import QCoreApplication, QSettings

_GROUP = "agentic_qt"
_ADDRESS = f"{_GROUP}/chat_model/address"
_MODEL = f"{_GROUP}/chat_model/name"
_KEYS = f"{_GROUP}/chat_model/keys_in_keyring"
_SHORTCUTS = f"{_GROUP}/shortcuts"


class Stored:
    """The assistant's part of an application's settings.

    Args:
        settings: The application's; None: those of its own names, or nothing where it has not named its organization,
            since the file would be shared with every other such application.
    """

    def __init__(self, settings: QSettings | None = None) -> None:
        named = QCoreApplication.organizationName() or QCoreApplication.organizationDomain()
        self._settings = settings if settings is not None or not named else QSettings()
        self.application = "/".join(part for part in (named, QCoreApplication.applicationName()) if part)

    @property
    def lasting(self) -> bool:
        """Whether anything is kept at all."""
        return self._settings is not None

    @property
    def chat_model(self) -> tuple[str, str] | None:
        """The address and the model that the person chose last."""
        address, model = self._text(_ADDRESS), self._text(_MODEL)
        return (address, model) if address and model else None

    def keep_chat_model(self, address: str, model: str) -> bool:
        """Keep what the person chose; returns whether it was: an address with a secret in it is not."""
        kept = self.lasting and not holds_secret(address)
        self._set(_ADDRESS, address if kept else "")
        self._set(_MODEL, model if kept else "")
        return kept

    @property
    def keys(self) -> tuple[str, ...]:
        """The origins whose keys are in the system's keyring, so that it need not be opened to know."""
        return tuple(self._text(_KEYS).split())

    def keep_keys(self, origins: Iterable[str]) -> None:
        """Keep for which origins a key is in the keyring."""
        self._set(_KEYS, " ".join(dict.fromkeys(origins)))

    def shortcuts(self, defaults: Mapping[str, str]) -> dict[str, str]:
        """Return the shortcuts by name, with the person's own in place of the defaults; portable text."""
        return {name: self._text(f"{_SHORTCUTS}/{name}", keys) for name, keys in defaults.items()}

    def keep_shortcut(self, name: str, keys: str | None) -> None:
        """Keep the person's shortcut of that name; empty for none at all, None for the default again."""
        if self._settings is not None and keys is None:
            self._settings.remove(f"{_SHORTCUTS}/{name}")
        elif keys is not None:
            # With a mark in front: some formats read an empty text back as nothing.
            self._set(f"{_SHORTCUTS}/{name}", f"={keys}")

    def _text(self, key: str, default: str = "") -> str:
        value = self._settings.value(key) if self._settings is not None else None
        if not isinstance(value, str):  # nothing, or a list, which a file that was edited by hand may hold
            return default
        return value.removeprefix("=") if key.startswith(_SHORTCUTS) else value

    def _set(self, key: str, value: str) -> None:
        if self._settings is None:
            return
        if value:
            self._settings.setValue(key, value)
        else:
            self._settings.remove(key)


def holds_secret(address: str) -> bool:
    """Whether an address holds more than a place: a user, a password, or a query that may be a key."""
    try:
        parts = urlsplit(address)
        return bool("@" in parts.netloc or parts.query or parts.fragment)
    except ValueError:
        return True
