"""Our SVG icons, tinted with a colour of the palette and sharp at every scale."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from agentic_qt.ui.resource_files import resource

_SIZES = (16,)  # logical: that of a tool button; larger ones are painted with paint_icon
_SCALES = (1, 2, 3)


@lru_cache(maxsize=64)
def _source(name: str) -> str:
    return resource("icons", f"{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    text = _source(name).replace("currentColor", colour)
    return QSvgRenderer(QByteArray(text.encode()))


def paint_icon(painter: QPainter, name: str, colour: QColor, box: QRectF) -> None:
    """Paint an icon into `box`, at the resolution of the painter's device."""
    _renderer(name, colour.name()).render(painter, box)


def icon(name: str, colour: QColor, disabled: QColor | None = None) -> QIcon:
    """Return an icon in `colour`; make it again when the palette changes.

    Raises:
        FileNotFoundError: There is no icon of that name.
    """
    made = QIcon()
    for mode, tint in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, disabled)):
        if tint is None:
            continue
        for size in _SIZES:
            for scale in _SCALES:
                pixmap = QPixmap.fromImage(_image(name, tint.name(), size * scale))
                pixmap.setDevicePixelRatio(scale)
                made.addPixmap(pixmap, mode)
    return made


# Images and not pixmaps: they may outlive the QApplication.
@lru_cache(maxsize=512)
def _image(name: str, colour: str, side: int) -> QImage:
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    _renderer(name, colour).render(painter, QRectF(0, 0, side, side))
    painter.end()
    return image
