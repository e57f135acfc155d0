"""How the application looks: icons in the colours of the palette, status colours, sizes from the font.

Nothing here is fixed to light or dark: colours come from the palette, or are chosen by how bright it is.
"""

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QWidget

_SHAPES = {
    "new": '<circle cx="10" cy="8" r="4"/><path d="M3 20c0-4 3-6 7-6 1.5 0 2.8.3 4 .9"/>'
           '<path d="M18 14v7M14.5 17.5h7"/>',
    "save": '<path d="M5 12.5l4.5 4.5L19 7.5"/>',
    "revert": '<path d="M4 5v5h5"/><path d="M4.6 10A8 8 0 1 1 4 14"/>',
    "delete": '<path d="M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5M14 11v5"/>',
    "merge": '<path d="M5 4c0 6 7 5 7 11v5M19 4c0 6-7 5-7 11"/><path d="M8.5 16.5L12 20l3.5-3.5"/>',
    "undo": '<path d="M8 5L4 9l4 4"/><path d="M4 9h10a5.5 5.5 0 0 1 0 11h-3"/>',
    "redo": '<path d="M16 5l4 4-4 4"/><path d="M20 9H10a5.5 5.5 0 0 0 0 11h3"/>',
    "search": '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.5"/>',
    "refresh": '<path d="M20 5v5h-5"/><path d="M19.4 10A8 8 0 1 0 20 14"/>',
    "theme": '<path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z"/>',
    "order": '<path d="M4 8l8-4 8 4v8l-8 4-8-4z"/><path d="M4 8l8 4 8-4M12 12v8"/>',
    "person": '<circle cx="12" cy="8" r="4"/><path d="M4 20c0-4 3.5-6 8-6s8 2 8 6"/>',
    "app": '<circle cx="9" cy="8.5" r="3.5"/><path d="M2.5 19c0-3.5 2.8-5.5 6.5-5.5s6.5 2 6.5 5.5"/>'
           '<path d="M15.5 5.2a3.5 3.5 0 0 1 0 6.6M17.5 14c2.4.8 4 2.5 4 5"/>',
}  # fmt: skip
_SIZES = (16, 20, 24, 32, 48, 64, 128)

# Hue, as degrees; None is grey. The word always stands beside the colour.
_STATUS_HUES: dict[str, int | None] = {
    "lead": 215, "active": 145, "inactive": None,
    "open": 35, "paid": 215, "shipped": 145, "cancelled": None,
}  # fmt: skip


def is_dark(palette: QPalette) -> bool:
    """Return whether text is lighter than its background."""
    return palette.color(QPalette.ColorRole.Base).lightness() < palette.color(QPalette.ColorRole.Text).lightness()


def icon(name: str, palette: QPalette) -> QIcon:
    """Return the icon `name` in the palette's colours; ask again when the palette has changed."""
    made = QIcon()
    modes = (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Active),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    )
    for mode, group in modes:
        colour = palette.color(group, QPalette.ColorRole.WindowText)
        for size in _SIZES:
            made.addPixmap(picture(name, colour, size), mode)
    return made


def picture(name: str, colour: QColor, size: int) -> QPixmap:
    """Return the picture `name` as `size` x `size` device pixels."""
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" '
        f'stroke="{colour.name()}" stroke-opacity="{colour.alphaF():.3f}" stroke-width="1.7" '
        f'stroke-linecap="round" stroke-linejoin="round">{_SHAPES[name]}</svg>'
    )
    pixmap = QPixmap(QSize(size, size))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


def status_colours(status: str, palette: QPalette) -> tuple[QColor, QColor]:
    """Return the text and the background colour of a status."""
    hue = _STATUS_HUES.get(status)
    saturation = 0 if hue is None else 150
    dark = is_dark(palette)
    text = QColor.fromHsl(hue or 0, saturation, 205 if dark else 62)
    background = QColor.fromHsl(hue or 0, saturation if hue is not None else 0, 62 if dark else 226)
    return text, background


def error_colour(palette: QPalette) -> QColor:
    """Return a red that can be read on the palette's window colour."""
    return QColor.fromHsl(3, 200, 185 if is_dark(palette) else 90)


def em(widget: QWidget, times: float = 1.0) -> int:
    """Return `times` the height of the widget's font, in logical pixels."""
    return round(widget.fontMetrics().height() * times)
