"""Words for a person whose press did not count."""

from PySide6.QtCore import QCoreApplication

from agentic_qt.qt.gestures.gesture import Refusal

translate = QCoreApplication.translate


def refusal_words(refusal: Refusal) -> str:
    """Return why a press did not count, and what to do."""
    return {
        Refusal.TOO_EARLY: translate("agentic_qt", "Too soon: this has just appeared. Read it, then press again."),
        Refusal.NOT_ISOLATED: translate(
            "agentic_qt", "Not counted: it came right after another key or click. Pause, then press again."
        ),
        Refusal.NOT_A_PERSON: translate("agentic_qt", "Not counted: it was not pressed by a person."),
    }[refusal]
