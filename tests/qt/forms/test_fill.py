"""Filling a form: all of it or nothing, as a person would, each after what it depends on."""

import pytest
import shiboken6
from PySide6.QtCore import QDate, QLocale, QRegularExpression, Qt
from PySide6.QtGui import QDoubleValidator, QRegularExpressionValidator, QUndoStack
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDateEdit,
    QDoubleSpinBox,
    QGroupBox,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QRadioButton,
    QSlider,
    QSpinBox,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.qt.forms.fill import FillError, check, fill, preview, remember_initial, restore, take_snapshot
from agentic_qt.qt.forms.synthesise import input_schema


def issues(form, values):
    with pytest.raises(FillError) as refusal:
        fill(form, values)
    return refusal.value.code, {issue.pointer: issue.keyword for issue in refusal.value.issues}


def recorded(signals):
    log = []
    for name, signal in signals.items():
        signal.connect(lambda *_, name=name: log.append(name))
    return log


def test_every_error_is_told_at_once_and_nothing_changes(make_form):
    """G34, FC-73."""
    line = QLineEdit("old")
    line.setMaxLength(5)
    form = make_form(("line", line), ("n", QSpinBox()), ("c", QCheckBox()))
    code, found = issues(form, {"line": "too long", "n": 500, "c": "yes", "nope": 1})
    assert code == "invalid_input"
    assert found == {"/line": "maxLength", "/n": "maximum", "/c": "type", "/nope": "additionalProperties"}
    assert (line.text(), form.findChild(QSpinBox).value()) == ("old", 0)
    assert {issue.pointer for issue in check(form, {"n": 500})} == {"/n"}


def test_a_pointer_is_escaped(make_form):
    edit = QLineEdit()
    edit.setProperty("toolParamName", "a/b")
    assert issues(make_form(("x", edit)), {"a/b": "two\nlines"})[1] == {"/a~1b": "refused"}


def test_a_text_is_typed_so_that_it_can_be_undone(make_form):
    """FC-74: setText would skip textEdited, editingFinished and the undo stack."""
    line, area = QLineEdit("old"), QPlainTextEdit("old")
    form = make_form(("line", line), ("area", area))
    log = recorded({"edited": line.textEdited, "changed": line.textChanged, "finished": line.editingFinished})
    fill(form, {"line": "new", "area": "new"})
    assert log == ["edited", "changed", "finished"] or log == ["changed", "edited", "finished"]
    line.undo()
    area.undo()
    assert (line.text(), area.toPlainText()) == ("old", "old")


def test_the_signals_are_those_of_a_person(make_form):
    """FC-74."""
    box, combo, spin, day, slider = QCheckBox(), QComboBox(), QSpinBox(), QDateEdit(), QSlider()
    combo.addItems(["a", "b"])
    form = make_form(("box", box), ("combo", combo), ("spin", spin), ("day", day), ("slider", slider))
    log = recorded({
        "clicked": box.clicked, "activated": combo.activated, "spin": spin.editingFinished, "day": day.editingFinished,
        "pressed": slider.sliderPressed, "moved": slider.sliderMoved, "released": slider.sliderReleased,
    })  # fmt: skip
    fill(form, {"box": True, "combo": "b", "spin": 3, "day": "2026-05-05", "slider": 9})
    assert log == ["clicked", "activated", "spin", "day", "pressed", "moved", "released"]


def test_a_field_that_holds_the_value_already_is_left_alone(make_form):
    line, spin = QLineEdit("x"), QSpinBox(value=3)
    form = make_form(("line", line), ("spin", spin))
    log = recorded({"line": line.textEdited, "finished": line.editingFinished, "spin": spin.editingFinished})
    assert fill(form, {"line": "x", "spin": 3}).changes == ()
    assert log == []


def test_a_part_of_the_form_leaves_the_rest_as_it_is(make_form):
    form = make_form(("a", QLineEdit("one")), ("b", QLineEdit("two")))
    filled = fill(form, {"b": "three"})
    assert filled.after.values == {"a": "one", "b": "three"}
    assert [(change.key, change.old, change.new) for change in filled.changes] == [("b", "two", "three")]


def test_reset_puts_the_rest_back_to_what_the_form_held_at_first(make_form):
    form = make_form(("a", QLineEdit("one")), ("b", QLineEdit("two")))
    remember_initial(form)
    fill(form, {"a": "x"})
    assert fill(form, {"b": "y"}).after.values == {"a": "x", "b": "y"}
    assert fill(form, {"b": "z"}, reset=True).after.values == {"a": "one", "b": "z"}


def test_a_failed_fill_undoes_the_reset_too(make_form):
    line = QLineEdit("one")
    form = make_form(("a", line), ("b", QLineEdit("two")))
    fill(form, {"a": "x"})
    line.textEdited.connect(lambda _: line.setText("mine"))
    with pytest.raises(FillError):
        fill(form, {"a": "y"}, reset=True)
    assert take_snapshot(form).values == {"a": "x", "b": "two"}


def test_a_value_that_a_widget_does_not_take_restores_the_form_and_tells_the_actual_one(make_form):
    """G34, FC-73."""

    class Clamping(QSpinBox):
        def setValue(self, value):
            super().setValue(min(value, 10))

    form = make_form(("a", QLineEdit("old")), ("n", Clamping()))
    with pytest.raises(FillError) as refusal:
        fill(form, {"a": "new", "n": 50})
    assert refusal.value.code == "not_taken"
    assert [issue.message for issue in refusal.value.issues] == ["was set to 50 but holds 10."]
    assert refusal.value.left == ()
    assert take_snapshot(form).values == {"a": "old", "n": 0}


def test_a_handler_that_changes_an_earlier_field_makes_the_fill_fail(make_form):
    first, second = QLineEdit("a"), QLineEdit("b")
    form = make_form(("first", first), ("second", second))
    second.textEdited.connect(lambda _: first.setText("changed by the application"))
    assert issues(form, {"first": "x", "second": "y"}) == ("not_taken", {"/first": "not_taken"})
    assert (first.text(), second.text()) == ("a", "b")


def country_and_state(make_form, *, declared):
    country, state = QComboBox(), QComboBox()
    states = {"US": ["CA", "NY"], "VN": ["Hanoi", "Hue"]}
    country.addItems(list(states))
    state.addItems(states["US"])

    def follow(name):
        state.clear()
        state.addItems(states[name])

    country.currentTextChanged.connect(follow)
    if declared:
        state.setProperty("toolDependsOn", "country")
    # The dependent one stands first: the order of the form is not that of filling.
    return make_form(("state", state), ("country", country))


@pytest.mark.parametrize("values", [{"country": "VN", "state": "Hue"}, {"state": "Hue", "country": "VN"}])
def test_a_dependent_list_is_filled_in_one_call(make_form, values):
    form = country_and_state(make_form, declared=True)
    assert fill(form, values).after.values == {"state": "Hue", "country": "VN"}


def test_a_dependent_field_promises_no_options(make_form):
    form = country_and_state(make_form, declared=True)
    assert "enum" not in input_schema(form)["properties"]["state"]


@pytest.mark.parametrize(
    ("values", "pointer"), [({"country": "VN", "state": "CA"}, "/state"), ({"state": "Hue"}, "/state")]
)
def test_a_wrong_dependent_value_rolls_all_back(make_form, values, pointer):
    form = country_and_state(make_form, declared=True)
    before = take_snapshot(form)
    assert issues(form, values) == ("invalid_input", {pointer: "refused"})
    assert take_snapshot(form) == before
    assert before.values == {"state": "CA", "country": "US"}


def test_an_undeclared_dependency_is_judged_by_the_options_of_now(make_form):
    form = country_and_state(make_form, declared=False)
    assert issues(form, {"country": "VN", "state": "Hue"}) == ("invalid_input", {"/state": "enum"})


def test_fields_that_depend_on_each_other_are_filled_all_the_same(make_form):
    a, b = QLineEdit(), QLineEdit()
    a.setProperty("toolDependsOn", ["b"])
    b.setProperty("toolDependsOn", ["a"])
    assert fill(make_form(("a", a), ("b", b)), {"a": "1", "b": "2"}).after.values == {"a": "1", "b": "2"}


@pytest.mark.parametrize("kind", [QSpinBox, QDoubleSpinBox, QSlider])
def test_the_bounds_of_a_dependent_number_are_those_that_it_has_when_it_is_set(make_form, kind):
    most, amount = QSpinBox(maximum=10, value=3), kind()
    amount.setMaximum(3)
    most.valueChanged.connect(amount.setMaximum)
    amount.setProperty("toolDependsOn", "most")
    form = make_form(("amount", amount), ("most", most))
    assert {"minimum", "maximum"}.isdisjoint(input_schema(form)["properties"]["amount"])
    assert fill(form, {"amount": 8, "most": 9}).after.values == {"amount": 8, "most": 9}
    assert issues(form, {"amount": 8, "most": 7}) == ("invalid_input", {"/amount": "refused"})
    assert issues(form, {"amount": 10}) == ("invalid_input", {"/amount": "refused"})
    assert take_snapshot(form).values == {"amount": 8, "most": 9}


def test_a_field_that_became_read_only_is_told_as_left_only_when_it_holds_another_value(make_form):
    first, second = QLineEdit("a"), QLineEdit("keep")
    first.textEdited.connect(lambda _: second.setReadOnly(True))
    form = make_form(("first", first), ("second", second))
    for values in ({"first": "x", "second": "y"}, {"second": "y", "first": "x"}):
        second.setReadOnly(False)
        before = second.text()
        with pytest.raises(FillError) as refusal:
            fill(form, values)
        assert (refusal.value.code, refusal.value.left) == ("form_changed", ())
        assert (first.text(), second.text()) == ("a", before)


def test_a_field_that_was_renamed_meanwhile_is_put_back(make_form):
    first, second = QLineEdit("a"), QLineEdit("keep")
    first.textEdited.connect(lambda _: second.setObjectName("other"))
    form = make_form(("first", first), ("second", second))
    filled = fill(form, {"first": "x", "second": "y"})
    assert restore(form, filled.before) == ()
    assert (first.text(), second.text()) == ("a", "keep")


def test_fields_that_mirror_each_other_and_did_not_are_told_when_they_cannot_be_put_back(make_form):
    one, other = QLineEdit("1"), QLineEdit("2")
    one.textChanged.connect(other.setText)
    other.textChanged.connect(one.setText)
    form = make_form(("one", one), ("other", other))
    filled = fill(form, {"one": "x"})
    left = restore(form, filled.before)
    assert left
    held = take_snapshot(form).values
    assert set(left) == {key for key, value in {"one": "1", "other": "2"}.items() if held[key] != value}


def test_a_field_that_is_disabled_meanwhile_rolls_all_back(make_form):
    same, address = QCheckBox(), QLineEdit("pre")
    same.toggled.connect(address.setDisabled)
    form = make_form(("same", same), ("address", address))
    assert issues(form, {"same": True, "address": "new"}) == ("form_changed", {"/address": "vanished"})
    assert (same.isChecked(), address.text(), address.isEnabled()) == (False, "pre", True)


def test_a_field_that_is_deleted_meanwhile_rolls_the_others_back(make_form):
    same, address = QCheckBox(), QLineEdit("pre")
    same.toggled.connect(lambda _: shiboken6.isValid(address) and shiboken6.delete(address))
    form = make_form(("same", same), ("address", address))
    with pytest.raises(FillError) as refusal:
        fill(form, {"same": True, "address": "new"})
    assert (refusal.value.code, refusal.value.left) == ("form_changed", ("address",))


def test_a_field_that_is_deleted_after_it_was_set_is_a_failure_like_any_other(make_form):
    line = QLineEdit()
    form = make_form(("line", line), ("n", QSpinBox()))
    line.editingFinished.connect(lambda: [shiboken6.delete(box) for box in form.findChildren(QSpinBox)])
    with pytest.raises(FillError) as refusal:
        fill(form, {"n": 3, "line": "x"})
    assert (refusal.value.code, refusal.value.left) == ("form_changed", ("n",))


def gift(make_form, *, checked):
    box = QGroupBox("Gift", checkable=True, checked=checked)
    QVBoxLayout(box).addWidget(QLineEdit(objectName="greeting"))
    return make_form(("gift", box))


def test_a_field_in_a_box_is_filled_after_the_box_was_checked(make_form):
    form = gift(make_form, checked=False)
    assert fill(form, {"greeting": "Hi", "gift": True}).after.values == {"gift": True, "greeting": "Hi"}


@pytest.mark.parametrize(
    ("checked", "values"), [(False, {"greeting": "Hi"}), (True, {"gift": False, "greeting": "Hi"})]
)
def test_a_field_in_a_box_that_stays_unchecked_is_refused(make_form, checked, values):
    form = gift(make_form, checked=checked)
    assert issues(form, values) == ("invalid_input", {"/greeting": "gate"})


@pytest.mark.parametrize("value", [0.1 + 0.2, 3.14159, 1e-9])
def test_a_number_is_exact_or_refused(make_form, value):
    """FC-73: a spin box would round in silence."""
    box = QDoubleSpinBox(decimals=1)
    assert issues(make_form(("n", box)), {"n": value}) == ("invalid_input", {"/n": "multipleOf"})
    assert fill(make_form(("n", QDoubleSpinBox(decimals=2))), {"n": 3.14}).after.values == {"n": 3.14}


def test_an_integral_number_may_be_written_as_a_float(make_form):
    assert fill(make_form(("n", QSpinBox())), {"n": 5.0}).after.values == {"n": 5}


def test_a_line_for_numbers_is_written_in_the_locale_of_its_validator(make_form):
    line = QLineEdit()
    validator = QDoubleValidator(0, 5000, 2, line)
    validator.setLocale(QLocale(QLocale.Language.German))
    line.setValidator(validator)
    assert fill(make_form(("n", line)), {"n": 1234.5}).after.values == {"n": 1234.5}
    assert line.text() == "1234,5"


@pytest.mark.parametrize("value", ["2025-12-31", "2027-01-01", "2026-02-30", "05/05/2026", "tomorrow", ""])
def test_a_date_is_iso_and_within_its_bounds(make_form, value):
    """FC-73: a date field would clamp in silence, and ignore what is no date."""
    day = QDateEdit(QDate(2026, 1, 1))
    day.setDateRange(QDate(2026, 1, 1), QDate(2026, 12, 31))
    assert issues(make_form(("d", day)), {"d": value}) == ("invalid_input", {"/d": "refused"})


def test_a_combo_box_takes_data_or_text_and_reports_data(make_form):
    """FC-73: setCurrentText would ignore an unknown text, and findData("3") match the number 3."""
    combo = QComboBox()
    combo.addItem("Red", "r")
    combo.addItem("Three", 3)
    combo.addItem("Object", object())
    form = make_form(("c", combo))
    assert fill(form, {"c": "Three"}).after.values == {"c": "3"}
    assert fill(form, {"c": "r"}).after.values == {"c": "r"}
    assert fill(form, {"c": "Object"}).after.values == {"c": "Object"}
    assert issues(form, {"c": "Blue"}) == ("invalid_input", {"/c": "enum"})


def test_what_cannot_be_chosen_is_not_offered(make_form):
    combo = QComboBox()
    combo.addItems(["a", "b"])
    combo.insertSeparator(1)
    combo.model().item(2).setEnabled(False)
    form = make_form(("c", combo))
    assert issues(form, {"c": "b"}) == ("invalid_input", {"/c": "enum"})


def test_the_value_of_a_disabled_item_is_not_taken_for_the_text_of_another(make_form):
    combo = QComboBox()
    combo.addItem("Size", "7")
    combo.addItem("Large", "Size")
    combo.model().item(1).setEnabled(False)
    assert issues(make_form(("c", combo)), {"c": "Size"}) == ("invalid_input", {"/c": "enum"})


def test_options_that_change_are_seen(make_form):
    combo = QComboBox()
    combo.addItem("a")
    form = make_form(("c", combo))
    fill(form, {"c": "a"})
    combo.addItem("b")
    assert fill(form, {"c": "b"}).after.values == {"c": "b"}
    combo.setItemText(0, "renamed")
    assert fill(form, {"c": "renamed"}).after.values == {"c": "renamed"}
    other = QComboBox(form)
    other.addItem("elsewhere")
    combo.setModel(other.model())
    assert fill(form, {"c": "elsewhere"}).after.values == {"c": "elsewhere"}


def test_a_validator_without_a_portable_pattern_judges_for_itself(make_form):
    line = QLineEdit()
    line.setValidator(QRegularExpressionValidator(QRegularExpression("(?!x)[a-z]+"), line))
    form = make_form(("a", line))
    assert issues(form, {"a": "xy"}) == ("invalid_input", {"/a": "refused"})
    assert fill(form, {"a": "yx"}).after.values == {"a": "yx"}


def test_a_required_field_is_missed_and_must_not_be_empty(make_form):
    line, box = QLineEdit(), QCheckBox()
    for widget in (line, box):
        widget.setProperty("toolRequired", True)
    form = make_form(("a", line), ("c", box))
    assert issues(form, {})[1] == {"/a": "required", "/c": "required"}
    assert issues(form, {"a": "", "c": False})[1] == {"/a": "minLength", "/c": "const"}


def test_what_is_read_only_disabled_hidden_or_secret_cannot_be_written(make_form):
    """G35, FC-75."""
    fixed, disabled, hidden, secret = (QLineEdit("x") for _ in range(4))
    form = make_form(("a", fixed), ("b", disabled), ("c", hidden), ("d", secret))
    fixed.setReadOnly(True)
    disabled.setEnabled(False)
    hidden.hide()
    secret.setEchoMode(QLineEdit.EchoMode.Password)
    for key in "abcd":
        assert issues(form, {key: "y"}) == ("invalid_input", {f"/{key}": "additionalProperties"})
    assert take_snapshot(form).states == {}
    assert [edit.text() for edit in (fixed, disabled, hidden, secret)] == ["x"] * 4


def test_a_preview_touches_nothing(make_form):
    line = QLineEdit("old")
    form = make_form(("a", line, "Name:"), ("n", QSpinBox()))
    changes = preview(form, {"a": "new", "n": 0})
    assert [(change.key, change.label, change.old, change.new) for change in changes] == [("a", "Name", "old", "new")]
    assert line.text() == "old"


def test_a_snapshot_brings_back_even_what_could_not_be_typed(make_form):
    line, radio, rich = QLineEdit(), QRadioButton("One"), QTextEdit()
    line.setValidator(QRegularExpressionValidator(QRegularExpression("[a-z]+"), line))
    line.setText("HALF 1")
    rich.setHtml("<b>bold</b> and more")
    form = make_form(("a", line), ("r", radio), ("t", rich))
    before = take_snapshot(form)
    fill(form, {"a": "abc", "r": "r", "t": "plain"})
    assert radio.isChecked()
    assert restore(form, before) == ()
    assert (line.text(), radio.isChecked()) == ("HALF 1", False)
    assert "font-weight" in rich.toHtml()


def test_a_list_is_selected_as_a_whole(make_form):
    view = QListWidget()
    view.setSelectionMode(QListWidget.SelectionMode.MultiSelection)
    view.addItems(["a", "b", "c"])
    view.item(1).setFlags(Qt.ItemFlag.NoItemFlags)
    form = make_form(("l", view))
    assert fill(form, {"l": ["c", "a"]}).after.values == {"l": ["a", "c"]}
    assert fill(form, {"l": []}).after.values == {"l": []}
    assert issues(form, {"l": ["b"]}) == ("invalid_input", {"/l/0": "enum"})


def test_an_input_that_is_no_plain_json_is_refused(make_form):
    form = make_form(("n", QDoubleSpinBox()))
    assert issues(form, {"n": float("nan")})[0] == "invalid_input"
    assert issues(form, {"n": QUndoStack})[0] == "invalid_input"


def test_a_widget_alone_can_be_filled_without_being_a_tool(qapp):
    form = QWidget()
    QLineEdit(form).setObjectName("a")
    assert fill(form, {"a": "x"}).after.values == {"a": "x"}
