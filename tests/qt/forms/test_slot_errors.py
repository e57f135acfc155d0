"""An application whose own code raises while a form is filled: no clean fill, and nothing of the error travels."""

import logging
import sys

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QSpinBox, QWizard, QWizardPage

from agentic_qt.core.call import Status
from agentic_qt.qt.forms.fill import FillError, fill, remember_initial, take_snapshot
from agentic_qt.qt.forms.wizard import WizardPort
from tests.support.form_stage import FormStage, make_form, outcome_of


@pytest.fixture
def hooked(monkeypatch):
    """What the application's own hook was told of errors in slots."""
    told = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: told.append(str(error)))
    return told


def fails(*_arguments):
    raise RuntimeError("the secret database")


def failure(form, values, **options):
    with pytest.raises(FillError) as refusal:
        fill(form, values, **options)
    error = refusal.value
    assert "secret" not in str(error)
    assert error.__cause__ is None
    return error.code, [(issue.pointer, issue.keyword) for issue in error.issues], error.left


SIGNALS = [
    (lambda: QLineEdit("old"), "textChanged", "new"),
    (lambda: QLineEdit("old"), "textEdited", "new"),
    (lambda: QLineEdit("old"), "editingFinished", "new"),
    (QSpinBox, "valueChanged", 5),
    (QCheckBox, "toggled", True),
    (QCheckBox, "clicked", True),
]


@pytest.mark.parametrize(("make", "signal", "value"), SIGNALS)
def test_a_slot_that_raises_while_its_field_is_set_takes_the_fill_back(make_form, hooked, make, signal, value):
    """FC-71: the emission itself returns as if nothing had happened."""
    widget = make()
    form = make_form(("first", QLineEdit("one")), ("field", widget), ("last", QLineEdit("three")))
    getattr(widget, signal).connect(fails)
    before, hook = take_snapshot(form), sys.excepthook
    found = failure(form, {"first": "1", "field": value, "last": "3"})
    assert found == ("handler_error", [("/field", "raised")], ())
    assert take_snapshot(form) == before
    assert set(hooked) == {"the secret database"}
    assert sys.excepthook is hook


def test_a_slot_that_raises_only_the_first_time_takes_the_fill_back(make_form, hooked):
    """FC-71"""
    combo = QComboBox()
    combo.addItems(["a", "b"])
    form = make_form(("combo", combo))
    once = combo.currentIndexChanged.connect(lambda _: (combo.disconnect(once), fails()))
    assert failure(form, {"combo": "b"})[0] == "handler_error"
    assert combo.currentText() == "a"
    assert len(hooked) == 1
    assert fill(form, {"combo": "b"}).after.values == {"combo": "b"}


def test_a_field_that_its_slot_keeps_from_being_put_back_is_told(make_form, hooked):
    """FC-71, FC-73"""
    spin, line = QSpinBox(), QLineEdit("old")
    form = make_form(("n", spin), ("line", line))

    def stubborn(value):
        if value < 5:
            spin.setValue(5)
        fails()

    spin.valueChanged.connect(stubborn)
    assert failure(form, {"line": "new", "n": 7}) == ("handler_error", [("/n", "raised")], ("n",))
    assert line.text() == "old"


def test_an_override_that_raises_takes_the_fill_back(make_form, caplog):
    """FC-71: PySide raises it where the widget was called."""

    class Roman(QSpinBox):
        def textFromValue(self, value):
            return fails() if value == 4 else "I" * value

    roman = Roman()
    form = make_form(("first", QLineEdit("one")), ("roman", roman))
    with caplog.at_level(logging.CRITICAL):
        found = failure(form, {"first": "1", "roman": 4})
    assert found == ("handler_error", [("/roman", "raised")], ())
    assert take_snapshot(form).values == {"first": "one", "roman": 0}


def test_a_slot_that_raises_while_the_form_is_reset_takes_the_fill_back(make_form, hooked):
    """FC-71"""
    line = QLineEdit("one")
    form = make_form(("a", line), ("b", QLineEdit("two")))
    remember_initial(form)
    fill(form, {"a": "x"})
    line.textChanged.connect(lambda text: fails() if text == "one" else None)
    assert failure(form, {"b": "y"}, reset=True) == ("handler_error", [("", "raised")], ())
    assert take_snapshot(form).values == {"a": "x", "b": "two"}


def test_an_error_of_before_and_one_of_later_are_no_business_of_the_fill(make_form, hooked, qtbot):
    """FC-71: nobody can tell whose a later one is."""
    line = QLineEdit()
    form = make_form(("a", line))
    line.textChanged.connect(lambda _: QTimer.singleShot(0, form, fails))
    assert fill(form, {"a": "x"}).after.values == {"a": "x"}
    qtbot.waitUntil(lambda: hooked == ["the secret database"], timeout=1000)


@pytest.fixture
def wizard(qapp):
    """Two pages with a line each."""
    wizard = QWizard()
    for name in ("who", "what"):
        page = QWizardPage(objectName=name)
        QLineEdit("old", page).setObjectName("line")
        wizard.addPage(page)
    wizard.restart()
    return wizard


def test_a_slot_that_raises_at_the_turn_of_a_page_takes_the_fill_back(wizard, hooked):
    """FC-71"""
    port = WizardPort(wizard)
    wizard.currentIdChanged.connect(lambda shown: fails() if shown == 1 else None)
    with pytest.raises(FillError) as refusal:
        port.fill({"who": {"line": "x"}, "what": {"line": "y"}})
    assert refusal.value.code == "handler_error"
    assert [issue.pointer for issue in refusal.value.issues] == ["/who"]
    assert port.values() == {"who": {"line": "old"}, "what": {"line": "old"}}
    assert wizard.currentPage().objectName() == "who"


def test_a_slot_that_raises_on_a_page_is_told_with_its_page(wizard, hooked):
    """FC-71"""
    port = WizardPort(wizard)
    wizard.page(1).findChild(QLineEdit).textEdited.connect(fails)
    with pytest.raises(FillError) as refusal:
        port.fill({"who": {"line": "x"}, "what": {"line": "y"}})
    assert [(issue.pointer, issue.keyword) for issue in refusal.value.issues] == [("/what/line", "raised")]
    assert port.values() == {"who": {"line": "old"}, "what": {"line": "old"}}


@pytest.mark.anyio
@pytest.mark.parametrize("properties", [{}, {"toolAutoSubmit": True, "toolReadOnly": True}])
async def test_the_call_fails_before_a_person_is_asked_and_the_outcome_names_the_field(hooked, properties):
    """FC-71, FC-73: nothing of the traceback travels."""
    stage = FormStage(make_form(**properties))
    stage.people.valueChanged.connect(fails)
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue", "people": 3}))
    assert (outcome.status, outcome.code, outcome.applied) == (Status.FAILED, "handler_error", False)
    assert outcome.hint.startswith("/people made the application's own code fail")
    assert "secret" not in outcome.hint
    assert "Traceback" not in outcome.hint
    assert (stage.city.text(), stage.people.value(), stage.booked) == ("Hanoi", 1, [])
    assert not stage.tool.is_active
    assert set(hooked) == {"the secret database"}


@pytest.mark.anyio
async def test_after_such_a_call_the_form_takes_the_next_one(hooked):
    """FC-71"""
    stage = FormStage()
    broken = stage.people.valueChanged.connect(fails)
    await stage.open()
    assert (await outcome_of(stage.call({"people": 3}))).code == "handler_error"
    stage.people.disconnect(broken)
    task = await stage.begin({"people": 3})
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).data == {"submitted": {"city": "Hanoi", "people": 3}}
