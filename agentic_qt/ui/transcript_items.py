"""What a conversation consists of, and the boxes that are painted behind it."""

from dataclasses import dataclass, field

from PySide6.QtCore import QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPyTextObject, QTextDocument, QTextFormat, QTextFrame

from agentic_qt.ui.answer import Answer
from agentic_qt.ui.cards import CardGroup
from agentic_qt.ui.icons import paint_icon
from agentic_qt.ui.text_styles import ICON_COLOUR, ICON_NAME, PILL, TextStyles


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """Something to press in the transcript; `name` is told, `words` are shown."""

    name: str
    words: str


@dataclass(frozen=True, kw_only=True, slots=True)
class UserMessage:
    """What the person wrote.

    Args:
        text: The words.
        branch: The id of the branch that this form of the message began or stands in; empty: nothing can be done.
        variants: The branches of all its forms, in the order in which they were begun; shared between the forms.
    """

    text: str
    branch: str = field(default="", compare=False)
    variants: list[str] = field(default_factory=list, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A small line of ours, such as "Stopped.", and what may be done about it."""

    text: str
    actions: tuple[Action, ...] = ()


@dataclass(kw_only=True, slots=True)
class ErrorCard:
    """What went wrong, what would help, the provider's own words as plain text, and buttons; may change."""

    headline: str
    remedy: str
    detail: str = ""
    can_retry: bool = False
    actions: tuple[Action, ...] = ()


Content = UserMessage | Note | ErrorCard | Answer | CardGroup


@dataclass(kw_only=True, slots=True, eq=False)
class Item:
    """A message, note, error or group of cards with the frame that shows it; `number` is its place."""

    content: Content
    frame: QTextFrame
    number: int
    buttons: list[tuple[int, int]] = field(default_factory=list)  # places of what is drawn as a button


class IconObject(QPyTextObject):
    """Draws the places of icons in the text."""

    def intrinsicSize(self, _doc: QTextDocument, _position: int, form: QTextFormat) -> QSizeF:
        """Return a square about as high as a line."""
        side = form.toCharFormat().fontPointSize() * 1.55  # points to about one line's height
        return QSizeF(side, side)

    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, _doc: QTextDocument, _position: int, form: QTextFormat
    ) -> None:
        """Draw the icon that the format names, in the colour that it names."""
        colour = form.property(ICON_COLOUR)
        if isinstance(colour, QColor):
            paint_icon(painter, str(form.property(ICON_NAME)), colour, QRectF(rect))


class BoxPainter:
    """Paints what a text document cannot: rounded boxes behind frames, and buttons behind words."""

    def __init__(self, document: QTextDocument, styles: TextStyles) -> None:
        self._document = document
        self._layout = document.documentLayout()
        self._styles = styles

    def seen(self, items: list[Item], seen: QRectF) -> list[Item]:
        """Return the items that touch `seen`, in document coordinates, by bisection."""
        box = self._layout.frameBoundingRect
        low, high = 0, len(items)
        while low < high:
            middle = (low + high) // 2
            if box(items[middle].frame).bottom() < seen.top():
                low = middle + 1
            else:
                high = middle
        found = []
        for item in items[low:]:
            if box(item.frame).top() > seen.bottom():
                break
            found.append(item)
        return found

    def paint(self, painter: QPainter, item: Item) -> None:
        """Paint the boxes of one item."""
        tones = self._styles.tones
        if isinstance(item.content, UserMessage):
            self._paint_box(painter, item.frame, tones.user, None)
        elif isinstance(item.content, CardGroup):
            self._paint_box(painter, item.frame, tones.card, tones.border)
        elif isinstance(item.content, ErrorCard):
            self._paint_box(painter, item.frame, tones.danger_card, tones.danger)
        elif isinstance(item.content, Answer):
            for frame in item.content.code_frames:
                self._paint_box(painter, frame, tones.code, None)
        for start, end in item.buttons:
            self._paint_button(painter, item.frame.firstPosition() + start, end - start)

    def _paint_box(self, painter: QPainter, frame: QTextFrame, fill: QColor, edge: QColor | None) -> None:
        form = frame.frameFormat()
        rect = self._layout.frameBoundingRect(frame)
        rect.adjust(form.leftMargin(), form.topMargin(), -form.rightMargin(), -form.bottomMargin())
        self._rounded(painter, rect, fill, edge)

    def _paint_button(self, painter: QPainter, position: int, length: int) -> None:
        block = self._document.findBlock(position)
        line = block.layout().lineForTextPosition(position - block.position())
        if not line.isValid():
            return
        place = self._layout.blockBoundingRect(block).topLeft()
        left = _x(line.cursorToX(position - block.position()))
        right = _x(line.cursorToX(position - block.position() + length))
        rect = QRectF(min(left, right), line.y(), abs(right - left), line.height()).translated(place)
        grow = 0.12 * self._styles.em
        self._rounded(painter, rect.adjusted(0, -grow, 0, grow), self._styles.tones.base, self._styles.tones.link)

    def _rounded(self, painter: QPainter, rect: QRectF, fill: QColor, edge: QColor | None) -> None:
        radius = 0.4 * self._styles.em
        painter.setPen(QPen(edge, 1) if edge is not None else Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def _x(place: object) -> float:
    # PySide6 returns the position and the cursor, its stubs say object.
    return float(place[0] if isinstance(place, tuple) else 0.0)


def buttons_of(frame: QTextFrame) -> list[tuple[int, int]]:
    """Return where the words stand that are drawn as buttons: start and end, from the start of the frame."""
    first, found = frame.firstPosition(), []
    block = frame.document().findBlock(first)
    while block.isValid() and block.position() <= frame.lastPosition():
        it = block.begin()
        while not it.atEnd():
            fragment = it.fragment()
            if fragment.charFormat().hasProperty(PILL):
                start = fragment.position() - first
                found.append((start, start + fragment.length()))
            it += 1
        block = block.next()
    return found
