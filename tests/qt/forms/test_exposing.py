"""Forms become capabilities when they declare themselves, now and later, and stop being some likewise."""

import subprocess
import sys

import pytest
from PySide6.QtWidgets import QComboBox, QLineEdit, QTabWidget, QWidget

from agentic_qt.core.capability import Risk
from agentic_qt.qt.forms.exposing import expose_forms, form_tool
from tests.support.approval_stage import settle, until
from tests.support.form_stage import FormStage, make_form, outcome_of

pytestmark = pytest.mark.anyio


async def test_a_widget_becomes_a_form_when_its_properties_are_set():
    form = make_form()
    form.setProperty("toolName", None)
    stage = FormStage(form)
    await stage.open()
    assert stage.registry.registrations == ()
    form.setProperty("toolName", "trip.book")
    await until(lambda: bool(stage.registry.registrations))
    form.setProperty("toolDescription", None)
    await until(lambda: not stage.registry.registrations)


async def test_a_form_that_is_added_later_is_found():
    stage = FormStage()
    await stage.open()
    later = make_form(name="trip.cancel")
    stage.place.addWidget(later)
    later.show()
    await until(lambda: "trip.cancel" in [found.name for found in stage.registry.visible])


async def test_changed_fields_and_options_raise_the_revision():
    """Probe live_schema."""
    form = make_form()
    stage = FormStage(form)
    await stage.open()
    first = stage.registry.revision
    hotel = QComboBox(form)
    hotel.setObjectName("hotel")
    hotel.addItems(["Old", "New"])
    hotel.show()
    await until(lambda: "hotel" in stage.tool.registration.input_schema["properties"])
    second = stage.registry.revision
    assert second > first
    await settle()
    hotel.addItem("Third")
    await until(lambda: "Third" in stage.tool.registration.input_schema["properties"]["hotel"]["enum"])
    assert stage.registry.revision > second


async def test_a_range_that_changed_silently_is_noticed_at_the_call():
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    await stage.open()
    stage.people.setMaximum(3)
    assert (await outcome_of(stage.call({"people": 8}))).status == "unavailable"
    await settle()
    assert (await outcome_of(stage.call({"people": 8}))).status == "invalid"


async def test_typing_in_a_form_does_not_change_the_catalogue():
    stage = FormStage()
    await stage.open()
    before = stage.registry.revision
    stage.city.setText("elsewhere")
    stage.people.setValue(3)
    stage.exposed.scan()
    await settle()
    assert stage.registry.revision == before


async def test_forms_of_one_name_are_told_apart_by_target():
    stage = FormStage()
    other = make_form()
    other.setObjectName("other")
    stage.place.addWidget(other)
    await stage.open()
    await until(lambda: len(stage.registry.registrations) == 2)
    assert {found.target_id for found in stage.registry.registrations} == {"trip", "other"}


async def test_a_form_on_a_hidden_page_is_not_listed():
    form = make_form()
    tabs = QTabWidget()
    tabs.addTab(QWidget(), "first")
    tabs.addTab(form, "second")
    stage = FormStage(form)
    stage.place.addWidget(tabs)
    tabs.addTab(form, "second")
    await stage.open()
    assert stage.registry.visible == ()
    tabs.setCurrentWidget(form)
    assert [found.name for found in stage.registry.visible] == ["trip.book"]


@pytest.mark.parametrize(
    ("properties", "risk"),
    [
        ({}, Risk.MUTATING),
        ({"toolReadOnly": True}, Risk.READ),
        ({"toolRisk": "destructive"}, Risk.DESTRUCTIVE),
        ({"toolRisk": "Read "}, Risk.READ),
        ({"toolRisk": "harmless"}, Risk.DESTRUCTIVE),
    ],
)
async def test_the_risk_is_declared_and_a_mistake_counts_as_the_worst(properties, risk):
    stage = FormStage(make_form(**properties))
    await stage.open()
    assert stage.tool.registration.capability.risk is risk


async def test_a_bad_name_is_linted_and_registers_nothing():
    from agentic_qt.qt.scope import find_scope

    stage = FormStage(make_form(name="trip book"))
    await stage.open()
    assert stage.registry.registrations == ()
    assert any("no tool name" in text for text in find_scope(stage.form).lints)


async def test_a_form_that_declares_itself_after_it_was_named_in_code_is_linted():
    from agentic_qt.qt.scope import find_scope

    form = make_form()
    for name in ("toolName", "toolDescription"):
        form.setProperty(name, None)
    stage = FormStage(form)
    form_tool(form, name="trip.book", description="Book.")
    await stage.open()
    form.setProperty("toolName", "trip.other")
    form.setProperty("toolDescription", "Other.")
    await until(lambda: bool(find_scope(form).lints))
    assert [found.name for found in stage.registry.registrations] == ["trip.book"]


async def test_dispose_leaves_the_form_as_ever(delete):
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.exposed.dispose()
    assert (await outcome_of(task)).status == "cancelled"
    assert stage.registry.registrations == ()
    stage.press_submit()
    assert stage.booked == [{"city": "Hanoi", "people": 1}]
    stage.form.setProperty("toolTitle", "later")
    await settle()
    assert stage.registry.registrations == ()


async def test_a_deleted_form_takes_its_capability_along(delete):
    stage = FormStage()
    await stage.open()
    delete(stage.form)
    assert stage.registry.registrations == ()
    await settle()
    assert stage.exposed.tools == ()


async def test_a_form_may_be_exposed_before_its_window_has_an_assistant(registry):
    window = QWidget()
    make_form(window)
    exposed = expose_forms(window, registry=registry)
    window.show()
    assert [found.name for found in registry.registrations] == ["trip.book"]
    exposed.dispose()


INERT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "agentic_qt":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocker())
from PySide6.QtCore import QBuffer, QByteArray
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton

app = QApplication([])
buffer = QBuffer()
buffer.setData(QByteArray(FORM.encode()))
buffer.open(QBuffer.OpenModeFlag.ReadOnly)
form = QUiLoader().load(buffer)
clicks = []
form.findChild(QPushButton, "book").clicked.connect(lambda: clicks.append(form.findChild(QLineEdit, "city").text()))
form.show()
form.findChild(QPushButton, "book").click()
print(form.property("toolName"), clicks)
try:
    import agentic_qt
except ModuleNotFoundError:
    print("not importable")
"""

FORM = """<ui version="4.0"><class>Form</class><widget class="QWidget" name="trip">
<property name="toolName" stdset="0"><string notr="true">trip.book</string></property>
<property name="toolDescription" stdset="0"><string notr="true">Book a trip.</string></property>
<layout class="QVBoxLayout" name="rows">
<item><widget class="QLineEdit" name="city"><property name="text"><string>Hanoi</string></property></widget></item>
<item><widget class="QPushButton" name="book"><property name="text"><string>Book</string></property></widget></item>
</layout></widget></ui>"""


def test_without_the_library_the_properties_are_inert():
    script = f"FORM = {FORM!r}\n{INERT}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert done.stdout.splitlines() == ["trip.book ['Hanoi']", "not importable"], done.stderr


async def test_a_plain_edit_is_no_form():
    stage = FormStage()
    await stage.open()
    edit = QLineEdit()
    stage.place.addWidget(edit)
    await settle()
    assert len(stage.exposed.tools) == 1
