"""Making capabilities of widgets that nobody subclassed."""

import gc

import pytest
from PySide6.QtCore import QBuffer, QByteArray
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QLabel, QLineEdit, QMainWindow, QWidget

from agentic_qt.core.call import Call, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import DeclarationError
from agentic_qt.qt.expose import expose, expose_capability
from agentic_qt.qt.mixin import capability
from agentic_qt.qt.scope import provide

FORM = """<ui version="4.0"><class>Form</class><widget class="QWidget" name="form">
<layout class="QVBoxLayout" name="layout">
<item><widget class="QLineEdit" name="city"><property name="text"><string>Hanoi</string></property></widget></item>
</layout></widget></ui>"""


def load_form() -> QWidget:
    buffer = QBuffer()
    buffer.setData(QByteArray(FORM.encode()))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    return QUiLoader().load(buffer)


@pytest.mark.anyio
async def test_a_widget_of_a_ui_file_is_exposed_without_a_subclass(registry, delete):
    form = load_form()
    provide(form, registry)
    edit = form.findChild(QLineEdit, "city")

    def set_city(city: str) -> str:
        """Set the city.

        Args:
            city: Its name.
        """
        form.findChild(QLineEdit, "city").setText(city)
        return form.findChild(QLineEdit, "city").text()

    exposed = expose(edit, set_city, name="city.set", risk="read")
    del edit
    gc.collect()
    assert exposed.registration is None
    form.show()
    assert exposed.registration.target_id == "city"
    assert (await registry.execute(Call(name="city.set", input={"city": "Hue"}))).data == "Hue"
    form.findChild(QLineEdit, "city").setEnabled(False)
    outcome = await registry.execute(Call(name="city.set", input={"city": "Hue"}))
    assert (outcome.status, "it is disabled" in outcome.hint) == (Status.UNAVAILABLE, True)
    delete(form.findChild(QLineEdit, "city"))
    assert registry.registrations == ()
    assert (await registry.execute(Call(name="city.set", input={"city": "Hue"}))).status is Status.UNAVAILABLE


@pytest.mark.anyio
async def test_a_bound_method_or_its_name_may_be_exposed_and_keeps_nothing_alive(registry, delete):
    class Counter(QLabel):
        def add(self, number: int, ctx: object) -> int:
            """Add a number."""
            assert ctx.call_id
            self.setNum(int(self.text() or 0) + number)
            return int(self.text())

        def ready(self) -> bool | str:
            return True if self.text() != "5" else "it is five"

    window = QMainWindow()
    counter = Counter()
    window.setCentralWidget(counter)
    provide(window, registry)
    window.show()
    first = expose(counter, counter.add, name="counter.add", risk="read", available=counter.ready)
    second = expose(counter, "add", name="counter.increase", risk="read", available="ready")
    assert (await registry.execute(Call(name="counter.add", input={"number": 2}))).data == 2
    assert (await registry.execute(Call(name="counter.increase", input={"number": 3}))).data == 5
    outcome = await registry.execute(Call(name="counter.add", input={"number": 1}))
    assert "it is five" in outcome.hint
    handler = first.registration.capability.handler
    assert second.registration.capability.description == "Add a number."
    delete(counter)
    with pytest.raises(Exception, match="target_gone"):
        handler(number=1)


def test_exposing_and_declaring_share_one_target(registry):
    class Note(QLabel):
        @capability(risk="read")
        def read(self) -> str:
            """Read."""
            return self.text()

    note = Note("hello")
    note.setObjectName("memo")
    provide(note, registry)
    note.show()
    exposed = expose(note, lambda: None, name="note.clear", risk="destructive", description="Clear.")
    shown = [(found.name, found.target_id) for found in registry.visible]
    assert shown == [("note.read", "memo"), ("note.clear", "memo")]
    exposed.dispose()
    assert [found.name for found in registry.visible] == ["note.read"]


def test_disposing_before_it_was_registered_and_after_the_widget_died_harms_nothing(registry, delete):
    window = QMainWindow()
    provide(window, registry)
    label = QLabel(window)
    early = expose(label, lambda: 1, name="label.early", risk="read")
    early.dispose()
    late = expose(label, lambda: 1, name="label.late", risk="read")
    window.show()
    assert [found.name for found in registry.registrations] == ["label.late"]
    delete(label)
    late.dispose()
    assert registry.registrations == ()


@pytest.mark.parametrize(
    ("handler", "options", "message"),
    [
        (lambda a: a, {}, r"test_expose\.py:\d+.*'a' has no type hint"),
        (lambda: 1, {"risk": "unknown"}, "risk must be one of"),
        ("no_such_method", {}, "no_such_method"),
        ("text", {}, "schema"),
    ],
)
def test_a_malformed_exposure_is_refused_at_once(qapp, handler, options, message):
    label = QLabel()
    with pytest.raises(DeclarationError, match=message):
        expose(label, handler, name="label.bad", **{"risk": "read", **options})


@pytest.mark.anyio
async def test_a_method_of_a_c_plus_plus_class_is_exposed_with_a_schema_of_its_own(registry):
    label = QLabel("hello")
    provide(label, registry)
    label.show()
    expose(label, "text", name="label.text", risk="read", schema={"type": "object"}, description="The text.")
    assert (await registry.execute(Call(name="label.text"))).data == "hello"


@pytest.mark.anyio
async def test_a_capability_made_elsewhere_lives_and_dies_with_a_widget(registry, delete):
    window = QMainWindow()
    provide(window, registry)
    field = QLineEdit("Hanoi")
    field.setObjectName("city")
    window.setCentralWidget(field)
    made = Capability(
        name="city.read",
        description="Read the city.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        risk="read",
        handler=lambda: "read",
    )
    exposed = expose_capability(field, made)
    assert exposed.registration is None
    window.show()
    assert exposed.registration.target_id == "city"
    assert (await registry.execute(Call(name="city.read", input={}))).data == "read"
    field.setEnabled(False)
    assert (await registry.execute(Call(name="city.read", input={}))).status is Status.UNAVAILABLE
    delete(field)
    assert registry.registrations == ()


def test_a_malformed_capability_is_refused_when_it_is_exposed(qapp):
    made = Capability(name="Not a name", description="x", input_schema={}, risk="read", handler=lambda: None)
    with pytest.raises(DeclarationError):
        expose_capability(QWidget(), made)
