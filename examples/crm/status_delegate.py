"""Paints a status as a word on a rounded background."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from examples.crm.look import status_colours
from examples.crm.models import STATUS_ROLE


class StatusDelegate(QStyledItemDelegate):
    """For a column whose cells have a status under `STATUS_ROLE`."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        status = index.data(STATUS_ROLE)
        if not status:
            super().paint(painter, option, index)
            return
        self.initStyleOption(option, index)
        text = option.text
        option.text = ""
        style = option.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        metrics = option.fontMetrics
        margin = metrics.height() * 0.45
        width = min(metrics.horizontalAdvance(text) + 2 * margin, option.rect.width() - margin)
        height = metrics.height() * 1.25
        pill = QRectF(0, 0, width, height)
        pill.moveCenter(QRectF(option.rect).center())
        if option.direction == Qt.LayoutDirection.RightToLeft:
            pill.moveRight(option.rect.right() - margin / 2)
        else:
            pill.moveLeft(option.rect.left() + margin / 2)
        foreground, background = status_colours(status, option.palette)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(background)
        painter.drawRoundedRect(pill, height / 2, height / 2)
        painter.setPen(foreground)
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        hint = super().sizeHint(option, index)
        return QSize(hint.width() + option.fontMetrics.height(), hint.height())
