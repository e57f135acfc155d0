"""Light and dark palettes of our own, and the colours that the assistant derives from whatever palette is in force.

No colour is fixed in a widget: each is mixed from palette roles, and text colours are moved until they can be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

Scheme = Literal["system", "light", "dark"]
READABLE = 4.5  # contrast of normal text, WCAG 2.2, 1.4.3

_Role = QPalette.ColorRole
_LIGHT: Mapping[QPalette.ColorRole, str] = {
    _Role.Window: "#f3f4f6",
    _Role.WindowText: "#1f2328",
    _Role.Base: "#ffffff",
    _Role.AlternateBase: "#f7f8fa",
    _Role.Text: "#1f2328",
    _Role.Button: "#f6f7f9",
    _Role.ButtonText: "#1f2328",
    _Role.BrightText: "#b3261e",
    _Role.ToolTipBase: "#ffffff",
    _Role.ToolTipText: "#1f2328",
    _Role.PlaceholderText: "#68707c",
    _Role.Highlight: "#2563c9",
    _Role.HighlightedText: "#ffffff",
    _Role.Accent: "#2563c9",
    _Role.Link: "#1d5fd1",
    _Role.LinkVisited: "#7a4fb5",
    _Role.Light: "#ffffff",
    _Role.Midlight: "#e9ebef",
    _Role.Mid: "#c9cdd4",
    _Role.Dark: "#9aa0aa",
    _Role.Shadow: "#5f6670",
}
_DARK: Mapping[QPalette.ColorRole, str] = {
    _Role.Window: "#212429",
    _Role.WindowText: "#e3e6ea",
    _Role.Base: "#191b1f",
    _Role.AlternateBase: "#1f2226",
    _Role.Text: "#e3e6ea",
    _Role.Button: "#2d3138",
    _Role.ButtonText: "#e3e6ea",
    _Role.BrightText: "#ff8a80",
    _Role.ToolTipBase: "#2d3138",
    _Role.ToolTipText: "#e3e6ea",
    _Role.PlaceholderText: "#969da8",
    _Role.Highlight: "#3a6fc4",
    _Role.HighlightedText: "#ffffff",
    _Role.Accent: "#5b93ea",
    _Role.Link: "#82b1ff",
    _Role.LinkVisited: "#c3a1f0",
    _Role.Light: "#454b54",
    _Role.Midlight: "#383d45",
    _Role.Mid: "#3f454e",
    _Role.Dark: "#15171a",
    _Role.Shadow: "#0b0c0e",
}
_DIMMED = (_Role.WindowText, _Role.Text, _Role.ButtonText, _Role.PlaceholderText, _Role.HighlightedText)


def make_palette(scheme: Literal["light", "dark"]) -> QPalette:
    """Return our palette for light or dark, disabled colours included."""
    palette = QPalette()
    colours = _LIGHT if scheme == "light" else _DARK
    for role, name in colours.items():
        palette.setColor(role, QColor(name))
    for role in _DIMMED:
        dimmed = mix(QColor(colours[role]), QColor(colours[_Role.Window]), 0.55)
        palette.setColor(QPalette.ColorGroup.Disabled, role, dimmed)
    palette.setColor(QPalette.ColorGroup.Disabled, _Role.Highlight, QColor(colours[_Role.Mid]))
    return palette


def apply_theme(app: QApplication, scheme: Scheme) -> None:
    """Show the whole application light, dark, or as the system wishes.

    Platforms that can switch by themselves are asked to; those that cannot (their scheme stays unknown, as on plain X11
    and offscreen) get a palette of ours.
    """
    hints = app.styleHints()
    wanted = {
        "system": Qt.ColorScheme.Unknown,
        "light": Qt.ColorScheme.Light,
        "dark": Qt.ColorScheme.Dark,
    }[scheme]
    hints.setColorScheme(wanted)
    if scheme == "system" or hints.colorScheme() == wanted:
        app.setPalette(QPalette())
    else:
        app.setPalette(make_palette("dark" if scheme == "dark" else "light"))
    app.setProperty("agentic_qt_theme", scheme)


def current_theme(app: QApplication) -> Scheme:
    """Return what `apply_theme` was last told; "system" before that."""
    chosen = app.property("agentic_qt_theme")
    return chosen if chosen in ("light", "dark") else "system"


def mix(first: QColor, second: QColor, share: float) -> QColor:
    """Return `first` with `share` (0 to 1) of `second` in it."""
    pairs = zip(_channels(first), _channels(second), strict=True)
    return QColor.fromRgbF(*(own + (other - own) * share for own, other in pairs))


def luminance(colour: QColor) -> float:
    """Return the relative luminance of a colour, 0 to 1 (WCAG 2.2)."""

    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4

    red, green, blue = _channels(colour)
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def _channels(colour: QColor) -> tuple[float, float, float]:
    values: Any = colour.getRgbF()  # four floats; the stubs say object
    return values[0], values[1], values[2]


def contrast(first: QColor, second: QColor) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    return _ratio(luminance(first), luminance(second))


def _ratio(first: float, second: float) -> float:
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)


def readable(colour: QColor, *backgrounds: QColor, minimum: float = READABLE) -> QColor:
    """Move `colour` towards black or white until it can be read on every background."""
    grounds = [luminance(background) for background in backgrounds]
    own = luminance(colour)
    worst = min(grounds, key=lambda ground: _ratio(own, ground))
    pole = QColor("white") if worst < 0.18 else QColor("black")
    for step in range(21):
        moved = mix(colour, pole, step / 20)
        bright = luminance(moved)
        if all(_ratio(bright, ground) >= minimum for ground in grounds):
            return moved
    return pole


@dataclass(frozen=True, kw_only=True, slots=True)
class Tones:
    """The colours of the assistant, derived from a palette.

    Args:
        text: Ordinary text.
        muted: Secondary text; still readable.
        link: Links and things that can be clicked.
        accent: What is chosen or the main thing to do: the palette's highlight.
        on_accent: Text on `accent`.
        ok: Status: done.
        warning: Status: needs a look, waits.
        danger: Status: failed, refused.
        info: Status: at work.
        base: The background of the transcript.
        card: The background of tool-call cards.
        code: The background of code.
        user: The background of the person's messages.
        border: Hairlines.
        danger_card: The background of error cards.
        dark: Whether this is a dark palette.
    """

    text: QColor
    muted: QColor
    link: QColor
    accent: QColor
    on_accent: QColor
    ok: QColor
    warning: QColor
    danger: QColor
    info: QColor
    base: QColor
    card: QColor
    code: QColor
    user: QColor
    border: QColor
    danger_card: QColor
    dark: bool

    @classmethod
    def of(cls, palette: QPalette) -> "Tones":
        """Derive the colours; each text colour reads on each background at 4.5:1 or better."""
        return _derive(tuple(palette.color(role).name() for role in _SOURCES))


_SOURCES = (_Role.Base, _Role.Text, _Role.Window, _Role.Highlight, _Role.HighlightedText, _Role.Link)


@lru_cache(maxsize=32)  # asked for at each paint, and a millisecond to derive
def _derive(sources: tuple[str, ...]) -> Tones:
    base, text, window, accent, on_accent, link = map(QColor, sources)
    dark = luminance(base) < luminance(text)
    danger = QColor("#e5484d") if dark else QColor("#c4302b")
    card = mix(base, text, 0.045)
    code = mix(base, text, 0.07)
    user = mix(base, accent, 0.26 if dark else 0.11)
    danger_card = mix(base, danger, 0.14 if dark else 0.07)
    grounds = (base, window, card, code, user, danger_card)
    return Tones(
        text=readable(text, *grounds),
        muted=readable(mix(text, base, 0.4), *grounds),
        link=readable(link, *grounds),
        accent=accent,
        on_accent=readable(on_accent, accent),
        ok=readable(QColor("#2f9e5b"), *grounds),
        warning=readable(QColor("#c98a12"), *grounds),
        danger=readable(danger, *grounds),
        info=readable(QColor("#3b82d8"), *grounds),
        base=base,
        card=card,
        code=code,
        user=user,
        border=mix(base, text, 0.16),
        danger_card=danger_card,
        dark=dark,
    )
