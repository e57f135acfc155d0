"""What an adapter is: how one kind of control is described, read and written."""

from typing import Any, Literal

from PySide6.QtCore import SignalInstance

JsonSchema = dict[str, Any]

Profile = Literal["chromium", "strict"]
"""``chromium`` describes a form exactly as that browser would; ``strict`` adds what Qt knows."""


class Adapter:
    """How one kind of control is described, read and written.

    A subclass gives `schema`, `get`, `set` and `changed`; the rest has defaults. All run in the GUI's thread.
    Values are JSON: exact numbers, ISO 8601 dates, texts, lists of texts.
    """

    def schema(self, control: Any, profile: Profile, *, required: bool = False, live: bool = True) -> JsonSchema:
        """Return the JSON Schema of the values, without a description.

        Args:
            control: The widget.
            profile: How to say it.
            required: A call must give the value, and not an empty one.
            live: The current options count; they do not where they depend on fields that are set before.
        """
        raise NotImplementedError

    def get(self, control: Any) -> Any:
        """Return the current value as JSON; None when there is none."""
        raise NotImplementedError

    def set(self, control: Any, value: Any) -> None:
        """Set a value that the schema allows, as a user would: user-level signals, undo kept."""
        raise NotImplementedError

    def changed(self, control: Any) -> tuple[SignalInstance, ...]:
        """Return the signals that tell that the value changed."""
        raise NotImplementedError

    def usable(self, control: Any, profile: Profile) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether it can be a field now; a read-only or a secret one cannot."""
        return True

    def note(self, control: Any) -> str:  # noqa: ARG002 - for subclasses
        """Return what the model should know beside the description, in a few words; strict profile only."""
        return ""

    def default(self, control: Any) -> Any:
        """Return the value to offer as ``default``, or None for none; it need not obey the schema."""
        return self.get(control)

    def normal(self, control: Any, value: Any) -> Any:  # noqa: ARG002 - for subclasses
        """Return the one form of a value that `get` returns after `set`; a value of another type as it is."""
        return value

    def refusal(self, control: Any, value: Any) -> str:  # noqa: ARG002 - for subclasses
        """Return what the control wants instead, such as ``"a date from 2026-01-01"``; empty when it takes the value.

        Asked before anything is set; the value is normal and obeys the schema.
        """
        return ""

    def snapshot(self, control: Any) -> Any:
        """Return all that `restore` needs; compared with ``==``."""
        return self.get(control)

    def restore(self, control: Any, state: Any) -> None:
        """Put back what `snapshot` returned, even where `set` would refuse it."""
        self.set(control, state)
