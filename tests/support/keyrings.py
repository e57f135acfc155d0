"""Keyrings for tests: one that works, one that is locked, one that is slow, and none."""

import threading
from typing import Any

import keyring
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as Empty
from keyring.errors import KeyringLocked

__all__ = ["Empty", "InTheClear", "Locked", "Slow", "Working", "use"]


class Working(KeyringBackend):
    """Keeps what it is given, in memory, and notes each access."""

    priority = 5  # type: ignore[assignment] # a class property in keyring

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.asked: list[str] = []

    def get_password(self, service: str, username: str) -> str | None:
        self.asked.append("get")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.asked.append("set")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self.asked.append("delete")
        del self.kept[service, username]


class Locked(Working):
    """Refuses with words that hold what it was given, as a careless one might."""

    open = False

    def get_password(self, service: str, username: str) -> str | None:
        if not self.open:
            raise KeyringLocked(f"locked: {self.kept}")
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        if not self.open:
            raise KeyringLocked(f"locked: {password}")
        super().set_password(service, username, password)

    def delete_password(self, service: str, username: str) -> None:
        if not self.open:
            raise RuntimeError(f"locked: {self.kept}")
        super().delete_password(service, username)


class Slow(Working):
    """Answers when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        assert self.go.wait(20)
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        assert self.go.wait(20)
        super().set_password(service, username, password)


class InTheClear(Working):
    """A file that anybody can read has a priority below one."""

    priority = 0.5  # type: ignore[assignment] # a class property in keyring


def use(monkeypatch: Any, backend: KeyringBackend) -> KeyringBackend:
    """Let `backend` be the system's keyring for one test."""
    monkeypatch.setattr(keyring.core, "_keyring_backend", backend)
    return backend
