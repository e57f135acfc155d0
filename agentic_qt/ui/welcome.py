"""What an empty conversation shows: a greeting with suggestions, or what to do when there is no chat model yet."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from agentic_qt.ui.icons import paint_icon
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.words import translate


class _Picture(QWidget):
    """One of our icons, large, in a soft circle."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.name = "assistant"
        side = round(3.4 * self.fontMetrics().height())
        self.setFixedSize(QSize(side, side))

    def paintEvent(self, _event: QPaintEvent) -> None:
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tones.user)
        box = QRectF(self.rect())
        painter.drawEllipse(box)
        inset = box.width() * 0.27
        paint_icon(painter, self.name, tones.link, box.adjusted(inset, inset, -inset, -inset))
        painter.end()


class Chip(QPushButton):
    """A suggestion: looks like a soft box, wraps its words, is reached with Tab."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.words = text
        self.setAccessibleName(translate("agentic_qt", "Suggestion: {text}").format(text=text))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        """Say that the height depends on the width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of the wrapped words."""
        em = self.fontMetrics().height()
        flags = Qt.TextFlag.TextWordWrap.value
        text = self.fontMetrics().boundingRect(0, 0, max(1, width - round(1.6 * em)), 10**4, flags, self.words)
        return round(text.height() + 1.1 * em)

    def sizeHint(self) -> QSize:
        """Return the size of a short column."""
        width = round(14 * self.fontMetrics().height())
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        """Return the least room for one line."""
        return QSize(round(6 * self.fontMetrics().height()), round(2.1 * self.fontMetrics().height()))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the box and the words."""
        tones = Tones.of(self.palette())
        em = self.fontMetrics().height()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        active = self.underMouse() or self.isDown()
        painter.setBrush(tones.user if active else tones.card)
        painter.setPen(QPen(tones.accent if self.hasFocus() or active else tones.border, 1.2 if self.hasFocus() else 1))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 0.5 * em, 0.5 * em)
        painter.setPen(tones.text if self.isEnabled() else tones.muted)
        flags = Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter
        inner = self.rect().adjusted(round(0.8 * em), 0, -round(0.8 * em), 0)
        painter.drawText(inner, flags.value | Qt.TextFlag.TextWordWrap.value, self.words)
        painter.end()


class Welcome(QScrollArea):
    """The page of an empty conversation.

    Attributes:
        chosen: A suggestion was pressed.
        settings_requested: The person wants to set up a chat model.
    """

    chosen = Signal(str)
    settings_requested = Signal()

    def __init__(self, suggestions: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._page = QWidget(self)
        # The page is part of the transcript's place and has its background. The ground is of our own making: when Qt's
        # is asked for, PySide looks through all classes for its type, which takes longer than the rest of the panel.
        ground = QWidget(self)
        self.setViewport(ground)
        self.setWidget(self._page)
        for surface in (ground, self._page):
            surface.setBackgroundRole(QPalette.ColorRole.Base)
            surface.setAutoFillBackground(True)
        em = self.fontMetrics().height()
        self._picture = _Picture(self._page)
        self._title = self._label(strong=True)
        self._text = self._label(strong=False)
        self._layout = QVBoxLayout(self._page)
        self._layout.setContentsMargins(round(1.2 * em), round(em), round(1.2 * em), round(em))
        self._layout.setSpacing(round(0.5 * em))
        self._layout.addStretch(2)
        self._layout.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignHCenter)
        self._layout.addSpacing(round(0.4 * em))
        self._layout.addWidget(self._title)
        self._layout.addWidget(self._text)
        self._layout.addSpacing(round(0.6 * em))
        self.chips: list[Chip] = []
        self.setup_button: QPushButton | None = None
        self._ready = True
        self._layout.addStretch(3)
        self.set_suggestions(suggestions)
        self.set_ready(ready=True)
        self._tint()

    def set_suggestions(self, suggestions: Sequence[str]) -> None:
        """Replace the suggestions."""
        if [chip.words for chip in self.chips] == list(suggestions):
            return
        for chip in self.chips:
            self._layout.removeWidget(chip)
            chip.deleteLater()
        self.chips = [Chip(text, self._page) for text in suggestions]
        for chip in self.chips:
            chip.clicked.connect(lambda _checked=False, words=chip.words: self.chosen.emit(words))
            self._layout.insertWidget(self._layout.count() - 1, chip)
            chip.setVisible(self._ready)

    def set_ready(self, *, ready: bool) -> None:
        """Show the greeting, or what to do when there is no chat model."""
        self._ready = ready
        self._picture.name = "assistant" if ready else "plug"
        self._picture.update()
        if ready:
            self._title.setText(translate("agentic_qt", "What shall we do?"))
            self._text.setText(
                translate(
                    "agentic_qt",
                    "The assistant works in this window. Anything that changes data waits for your approval.",
                )
            )
        else:
            self._title.setText(translate("agentic_qt", "No chat model yet"))
            self._text.setText(
                translate(
                    "agentic_qt",
                    "The assistant needs a model: one that runs on this computer (Ollama, LM Studio, llama.cpp, vLLM), "
                    "or a service with a key.",
                )
            )
        self._offer_setup(offered=not ready)
        for chip in self.chips:
            chip.setVisible(ready)

    def _offer_setup(self, *, offered: bool) -> None:
        if self.setup_button is None and offered:
            self.setup_button = QPushButton(translate("agentic_qt", "Set up a model…"), self._page)
            self.setup_button.clicked.connect(self.settings_requested)
            self._layout.insertWidget(self._layout.count() - 1, self.setup_button, 0, Qt.AlignmentFlag.AlignHCenter)
        if self.setup_button is not None:
            self.setup_button.setVisible(offered)

    def _label(self, *, strong: bool) -> QLabel:
        label = QLabel(self._page)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        if strong:
            font = label.font()
            font.setPointSizeF(font.pointSizeF() * 1.3)
            font.setWeight(QFont.Weight.DemiBold)
            label.setFont(font)
        return label

    def _tint(self) -> None:
        self._colour(self._text, Tones.of(self.palette()).muted)

    def _colour(self, label: QLabel, colour: QColor) -> None:
        palette = label.palette()
        if palette.color(palette.ColorRole.WindowText) != colour:
            palette.setColor(palette.ColorRole.WindowText, colour)
            label.setPalette(palette)

    def changeEvent(self, event: QEvent) -> None:
        """Take the new colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "chips"):
            self._tint()
