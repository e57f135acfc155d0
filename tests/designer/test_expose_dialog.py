"""The dialog "Expose to the assistant...", on the text of a form, without Designer."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLineEdit, QPushButton

from agentic_qt.devtools.designer.changes import changes_of
from agentic_qt.devtools.designer.expose_dialog import ExposeDialog
from agentic_qt.devtools.designer.field_details import FieldDetails
from agentic_qt.devtools.designer.field_table import DESCRIPTION, NAME, OFFERED, REQUIRED
from agentic_qt.devtools.designer.twin import find_form, loaded, owning_form, read_form
from agentic_qt.devtools.designer.ui_text import Changes, UiTextError, with_properties

CARS = (Path(__file__).parent / "cars.ui").read_text(encoding="utf-8")
EXPOSED = with_properties(
    CARS,
    {
        "search_box": {"toolName": "cars.search", "toolDescription": "Finds cars.", "toolRisk": "destructive"},
        "city": {"toolParamName": "town", "toolRequired": True},
        "remember_me": {"toolExclude": True, "toolParamDescription": "For the next time"},
    },
)
CHOICE = """<ui version="4.0"><class>Form</class><widget class="QWidget" name="Form">
<layout class="QVBoxLayout" name="v">
<item><widget class="QGroupBox" name="gear"><property name="title"><string>Gear</string></property>
<layout class="QVBoxLayout" name="v2">
<item><widget class="QRadioButton" name="manual"><property name="text"><string>Manual</string></property></widget>
</item>
<item><widget class="QRadioButton" name="automatic"><property name="text"><string>Automatic</string></property></widget>
</item></layout></widget></item>
<item><widget class="QLineEdit" name="lineEdit_3"/></item></layout></widget></ui>"""

pytestmark = pytest.mark.usefixtures("qapp")


class Applied(list[Changes]):
    """Takes the changes of a dialog, or refuses them."""

    refusal = ""

    def __init__(self) -> None:
        super().__init__()
        self.dialogs: list[ExposeDialog] = []  # nobody else holds a dialog without a parent

    def __call__(self, changes: Changes) -> None:
        if self.refusal:
            raise UiTextError(self.refusal)
        self.append(changes)


@pytest.fixture
def applied() -> Applied:
    return Applied()


def dialog_of(qtbot: Any, ui: str, applied: Applied, form: str = "search_box", field: str = "") -> ExposeDialog:
    dialog = ExposeDialog(ui, form, applied, field_name=field)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, on=False)
    qtbot.addWidget(dialog)
    applied.dialogs.append(dialog)
    dialog.open()
    return dialog


def test_an_untouched_dialog_changes_nothing(qtbot: Any, applied: Applied) -> None:
    for ui in (CARS, EXPOSED):
        assert dialog_of(qtbot, ui, applied).changes() == {}


def test_it_shows_what_the_form_declares_and_the_fields_that_are_left_out(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, EXPOSED, applied)
    assert dialog.name.text() == "cars.search"
    assert dialog.description.toPlainText() == "Finds cars."
    assert dialog.risk.currentText() == "Destroys something"
    rows = {row.objects[0]: row for row in dialog.fields.rows()}
    assert list(rows) == ["city", "seats", "category", "remember_me"]
    assert (rows["city"].name, rows["city"].required) == ("town", True)
    assert (rows["remember_me"].excluded, rows["remember_me"].description) == (True, "For the next time")


def test_typing_shows_the_tool_and_what_is_missing(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CARS, applied)
    assert "It is no tool yet: it needs a name." in dialog.findings.text()
    qtbot.keyClicks(dialog.name, "cars search")
    qtbot.waitUntil(lambda: "'cars search'" in dialog.findings.text(), timeout=10_000)
    dialog.name.selectAll()
    qtbot.keyClicks(dialog.name, "cars.search")
    qtbot.keyClicks(dialog.description, "Finds cars.")
    assert dialog.changes() == {"search_box": {"toolName": "cars.search", "toolDescription": "Finds cars."}}
    qtbot.waitUntil(lambda: '"cars.search"' in dialog.preview.toPlainText(), timeout=10_000)
    assert not dialog.findings.isVisible()
    assert next(iter(json.loads(dialog.preview.toPlainText())["inputSchema"]["properties"])) == "city"


def test_what_is_entered_for_a_field_is_written_and_an_emptied_cell_is_as_before(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CARS, applied)
    dialog.name.setText("cars.search")
    table = dialog.fields
    table.cell(0, DESCRIPTION).setText("Where")
    table.cell(1, NAME).setText("min_seats")
    table.cell(1, REQUIRED).setCheckState(Qt.CheckState.Checked)
    table.cell(3, OFFERED).setCheckState(Qt.CheckState.Unchecked)
    table.cell(2, NAME).setText("kind")
    table.cell(2, NAME).setText(" ")
    assert table.cell(2, NAME).text() == "category"
    dialog.accept()
    assert applied == [
        {
            "search_box": {"toolName": "cars.search", "toolDescription": ""},
            "city": {"toolParamDescription": "Where"},
            "seats": {"toolParamName": "min_seats", "toolRequired": True},
            "remember_me": {"toolExclude": True},
        }
    ]
    assert not dialog.isVisible()


def test_a_destructive_form_cannot_be_submitted_without_a_review(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CARS, applied)
    dialog.name.setText("cars.wipe")
    dialog.auto_submit.setChecked(True)
    assert dialog.changes()["search_box"]["toolAutoSubmit"] is True
    dialog.risk.setCurrentIndex(2)
    assert not dialog.auto_submit.isEnabled()
    assert "toolAutoSubmit" not in dialog.changes()["search_box"]
    assert dialog.changes()["search_box"]["toolRisk"] == "destructive"


def test_do_not_expose_takes_the_declaration_away_and_leaves_the_fields(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, EXPOSED, applied)
    button = next(button for button in dialog.findChildren(QPushButton) if "Expose" in button.text())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    left = with_properties(EXPOSED, applied[0])
    assert "cars.search" not in left
    assert "toolRisk" not in left
    assert "town" in left


def test_it_stays_open_when_the_form_refuses(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CARS, applied)
    applied.refusal = "not now"
    dialog.name.setText("cars.search")
    dialog.accept()
    assert dialog.isVisible()
    assert "not now" in dialog.findings.text()


def test_cancel_changes_nothing(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CARS, applied)
    dialog.name.setText("cars.search")
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert applied == []
    assert not dialog.isVisible()


def test_the_line_of_the_input_whose_menu_was_used_is_chosen(qtbot: Any, applied: Applied) -> None:
    assert dialog_of(qtbot, CARS, applied, field="category").fields.currentRow() == 2


def test_a_set_of_buttons_is_one_line_whose_box_holds_the_description(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CHOICE, applied, form="Form")
    line = dialog.fields.line_of("manual")
    assert line == dialog.fields.line_of("automatic")
    dialog.fields.cell(line, DESCRIPTION).setText("How it changes gear")
    dialog.fields.cell(line, REQUIRED).setCheckState(Qt.CheckState.Checked)
    dialog.refresh()
    assert dialog.changes() == {
        "manual": {"toolRequired": True},
        "gear": {"toolParamDescription": "How it changes gear"},
    }
    schema = json.loads(dialog.preview.toPlainText())["inputSchema"]
    assert schema["required"] == ["gear"]
    assert schema["properties"]["gear"]["description"].startswith("How it changes gear")
    dialog.fields.cell(line, NAME).setText("transmission")
    dialog.refresh()
    renamed = json.loads(dialog.preview.toPlainText())["inputSchema"]
    assert renamed["required"] == ["transmission"]
    assert renamed["properties"]["transmission"]["enum"] == ["Manual", "Automatic"]


def test_names_that_designer_made_and_fields_without_a_text_are_told(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CHOICE, applied, form="Form")
    dialog.name.setText("gear.choose")
    dialog.refresh()
    told = dialog.findings.text()
    assert "'lineEdit_3' has neither a label nor a toolParamDescription" in told
    assert "'lineEdit_3' has the automatic name" in told
    assert "'Form' has no button that submits it" in told


def test_another_form_of_the_same_name_is_told(qtbot: Any, applied: Applied) -> None:
    twice = with_properties(EXPOSED, {"CarWindow": {"toolName": "cars.search", "toolDescription": "All of it."}})
    assert "are all called 'cars.search'" in dialog_of(qtbot, twice, applied).findings.text()


def test_an_input_belongs_to_the_declared_form_around_it_else_to_the_window() -> None:
    for ui, owner in ((CARS, "CarWindow"), (EXPOSED, "search_box")):
        with loaded(ui) as root:
            city = root.findChild(QLineEdit, "city")
            assert owning_form(city, root).objectName() == owner
            box = find_form(root, "search_box")
            assert owning_form(box, root) is box


def test_a_widget_that_is_not_there_is_refused() -> None:
    with pytest.raises(UiTextError, match="'nobody'"):
        read_form(CARS, "nobody")
    with pytest.raises(UiTextError):
        read_form("<ui version='4.0'/>", "nobody")


def test_the_same_declaration_twice_has_no_difference() -> None:
    read = read_form(EXPOSED, "search_box")
    assert changes_of("search_box", read, read.declaration, read.rows) == {}


@pytest.mark.parametrize("said", [{"toolRisk": "read"}, {"toolReadOnly": True}])
def test_another_risk_replaces_the_one_that_was_said_in_either_way(said: dict[str, Any]) -> None:
    ui = with_properties(EXPOSED, {"search_box": {"toolRisk": None, **said}})
    read = read_form(ui, "search_box")
    assert read.declaration.risk == "read"
    for risk in ("mutating", "destructive", "read"):
        other = replace(read.declaration, risk=risk)
        assert read_form(
            with_properties(ui, changes_of("search_box", read, other, read.rows)), "search_box"
        ) == replace(read, declaration=other)


def test_the_button_that_submits_is_chosen_by_name(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, EXPOSED, applied)
    assert [dialog.submit_button.itemData(place) for place in range(dialog.submit_button.count())] == ["", "find"]
    dialog.submit_button.setCurrentIndex(1)
    assert dialog.changes() == {"search_box": {"toolSubmitButton": "find"}}


DETAILED = with_properties(
    CARS,
    {
        "city": {"toolSensitive": True},
        "seats": {"toolUnit": "persons"},
        "category": {"toolDependsOn": ("city", "seats"), "toolItemValues": ("small", "estate, long", "van")},
    },
)


def choose(dialog: ExposeDialog, name: str) -> FieldDetails:
    dialog.fields.choose(name)
    return dialog.details


def test_the_details_are_those_of_the_chosen_line_and_showing_them_changes_nothing(
    qtbot: Any, applied: Applied
) -> None:
    dialog = dialog_of(qtbot, DETAILED, applied)
    assert (dialog.details.title(), dialog.details.sensitive.isChecked()) == ("Details of City", True)
    assert choose(dialog, "seats").unit.text() == "persons"
    assert dialog.fields.cell(1, DESCRIPTION).text() == "Seats"
    details = choose(dialog, "category")
    assert details.depends_on.text() == "city, seats"
    assert details.item_values.toPlainText() == "small\nestate, long\nvan"
    assert not details.sensitive.isChecked()
    assert dialog.changes() == {}


def test_the_details_of_each_line_are_kept_and_written(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CARS, applied)
    qtbot.keyClicks(choose(dialog, "seats").unit, "persons")
    qtbot.mouseClick(choose(dialog, "city").sensitive, Qt.MouseButton.LeftButton, pos=QPoint(9, 9))
    details = choose(dialog, "category")
    qtbot.keyClicks(details.depends_on, "city,seats")
    details.item_values.setPlainText("small\nestate, long\nvan\n")
    assert choose(dialog, "seats").unit.text() == "persons"
    dialog.accept()
    assert applied == [
        {
            "city": {"toolSensitive": True},
            "seats": {"toolUnit": "persons"},
            "category": {"toolDependsOn": "city, seats", "toolItemValues": ("small", "estate, long", "van")},
        }
    ]
    written = with_properties(CARS, applied[0])
    assert read_form(written, "search_box").rows == read_form(DETAILED, "search_box").rows
    assert written.count('<stringlist notr="true">') == 1


def test_emptied_details_are_taken_away(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, DETAILED, applied)
    choose(dialog, "city").sensitive.setChecked(False)
    choose(dialog, "seats").unit.clear()
    details = choose(dialog, "category")
    details.depends_on.clear()
    details.item_values.clear()
    assert dialog.changes() == {
        "city": {"toolSensitive": None},
        "seats": {"toolUnit": None},
        "category": {"toolDependsOn": None, "toolItemValues": None},
    }


def test_what_lint_says_of_the_details_is_told(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, EXPOSED, applied)
    details = choose(dialog, "category")
    details.depends_on.setText("county")
    details.item_values.setPlainText("a\nb\nc\nd")
    dialog.refresh()
    told = dialog.findings.text()
    assert "'category' is set after 'county', and there is nothing of that name in the form" in told
    assert "'category' has 4 toolItemValues for 3 items" in told


def test_only_what_has_items_takes_values_for_them_and_a_set_of_buttons_no_unit(qtbot: Any, applied: Applied) -> None:
    dialog = dialog_of(qtbot, CARS, applied)
    assert choose(dialog, "category").item_values.isEnabled()
    assert not choose(dialog, "seats").item_values.isEnabled()
    gears = dialog_of(qtbot, CHOICE, applied, form="Form")
    assert not choose(gears, "manual").unit.isEnabled()
    assert choose(gears, "lineEdit_3").unit.isEnabled()


def test_what_the_second_button_of_a_set_says_can_be_taken_back(qtbot: Any, applied: Applied) -> None:
    ui = with_properties(CHOICE, {"automatic": {"toolRequired": True, "toolSensitive": True}})
    dialog = dialog_of(qtbot, ui, applied, form="Form")
    assert dialog.changes() == {}
    line = dialog.fields.line_of("manual")
    dialog.fields.cell(line, REQUIRED).setCheckState(Qt.CheckState.Unchecked)
    choose(dialog, "manual").sensitive.setChecked(False)
    dialog.accept()
    row = read_form(with_properties(ui, applied[0]), "Form").rows[line]
    assert (row.required, row.sensitive) == (False, False)


def test_a_form_without_fields_has_no_details(qtbot: Any, applied: Applied) -> None:
    bare = '<ui version="4.0"><class>F</class><widget class="QWidget" name="F"/></ui>'
    assert not dialog_of(qtbot, bare, applied, form="F").details.isEnabled()
