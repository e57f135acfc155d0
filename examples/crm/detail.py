"""The right side of the window: who is shown, the form and the orders; or a word that nobody is."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from examples.crm.customer_form import CustomerForm
from examples.crm.domain import Customer, Order
from examples.crm.look import em, picture, status_colours
from examples.crm.orders_panel import OrdersPanel


class Badge(QWidget):
    """A round picture with the initials of a name, in the colours of a status."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._initials, self._status = "", "lead"
        self.setFixedSize(self.sizeHint())

    def show_person(self, name: str, status: str) -> None:
        """Take the initials of the first and the last word of the name."""
        words = name.split() or ["?"]
        ends = (words[0], words[-1]) if len(words) > 1 else (words[0],)
        self._initials = "".join(word[0] for word in ends).upper()
        self._status = status
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(em(self, 2.6), em(self, 2.6))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        foreground, background = status_colours(self._status, self.palette())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(background)
        painter.drawEllipse(QRectF(self.rect()))
        font = painter.font()
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(foreground)
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._initials)


class Detail(QWidget):
    """Shows one customer, or that none is chosen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form = CustomerForm()
        self.orders = OrdersPanel()
        self._badge = Badge()
        self._name = QLabel()
        self._about = QLabel()
        for label in (self._name, self._about):
            label.setTextFormat(Qt.TextFormat.PlainText)
        font = self._name.font()
        font.setPointSizeF(font.pointSizeF() * 1.3)
        font.setBold(True)
        self._name.setFont(font)
        self._about.setWordWrap(True)
        self._about.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.form, "&Details")
        self.tabs.addTab(self.orders, "O&rders")
        self._pages = QStackedWidget()
        self._pages.addWidget(self._make_empty_page())
        self._pages.addWidget(self._make_page())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._pages)
        self.setMinimumWidth(em(self, 17))
        self.form.edited.connect(self._show_heading)

    def _make_page(self) -> QWidget:
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._name)
        texts.addWidget(self._about)
        top = QHBoxLayout()
        top.setSpacing(em(self, 0.6))
        top.addWidget(self._badge)
        top.addLayout(texts, 1)
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setSpacing(em(self, 0.7))
        layout.addLayout(top)
        layout.addWidget(self.tabs, 1)
        return page

    def _make_empty_page(self) -> QWidget:
        self._empty_picture = QLabel()
        self._empty_picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        words = QLabel("Choose a customer in the table, or add a new one.")
        words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        words.setWordWrap(True)
        words.setEnabled(False)
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.addStretch(2)
        layout.addWidget(self._empty_picture)
        layout.addWidget(words)
        layout.addStretch(3)
        self._draw_empty_picture()
        return page

    def show_customer(self, customer: Customer | None, orders: list[Order]) -> None:
        """Show a customer as it is stored; None shows the empty page."""
        self.form.show_customer(customer)
        self.show_orders(orders)
        self._pages.setCurrentIndex(0 if customer is None else 1)

    def show_orders(self, orders: list[Order]) -> None:
        """Show the orders of the customer that is shown."""
        customer = self.form.customer
        self.orders.show_orders(orders, can_add=customer is not None and customer.id != 0)
        self.tabs.setTabText(1, f"O&rders ({len(orders)})" if orders else "O&rders")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._draw_empty_picture()

    def _show_heading(self) -> None:
        customer = self.form.customer
        if customer is None:
            return
        values = self.form.values()
        self._badge.show_person(values["name"], values["status"])
        name = values["name"] or "New customer"
        self._name.setText(f"{name} •" if self.form.dirty else name)
        where = ", ".join(part for part in (values["company"], values["city"]) if part)
        number = f"Customer {customer.id}" if customer.id else "Not saved yet"
        about = (values["status"].capitalize(), where, number)
        self._about.setText(" · ".join(part for part in about if part))

    def _draw_empty_picture(self) -> None:
        ratio = self.devicePixelRatioF()
        colour = self.palette().color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.WindowText)
        pixmap = picture("person", colour, round(em(self, 4) * ratio))
        pixmap.setDevicePixelRatio(ratio)
        self._empty_picture.setPixmap(pixmap)
