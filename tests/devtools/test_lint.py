"""The lint of forms: the browser's findings and ours, with the lines of a .ui file."""

import json
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QLineEdit, QListWidget, QWidget

from agentic_qt.cli import main
from agentic_qt.qt.forms.lint import lint_form, lint_window
from tests.support.form_stage import make_form

HEAD = '<ui version="4.0">\n<class>Form</class>\n<widget class="QWidget" name="trip">\n'
TAIL = "\n</widget>\n</ui>\n"
BUTTON = '<widget class="QPushButton" name="book"><property name="text"><string>Book</string></property></widget>'


def tool(name="trip.book", description="Book a trip.", notr=' notr="true"'):
    return (
        f'<property name="toolName" stdset="0"><string{notr}>{name}</string></property>\n'
        f'<property name="toolDescription" stdset="0"><string notr="true">{description}</string></property>\n'
    )


def field(kind, name, **properties):
    texts = "".join(
        f'<property name="{key}" stdset="0"><string notr="true">{value}</string></property>'
        for key, value in properties.items()
    )
    return f'<widget class="{kind}" name="{name}">{texts}</widget>\n'


NAMED = {"toolParamDescription": "What it is."}

CASES = {
    "missing_name": ('<property name="toolDescription" stdset="0"><string notr="true">x</string></property>', 3),
    "missing_description": ('<property name="toolName" stdset="0"><string notr="true">x</string></property>', 3),
    "invalid_name": (tool(name="trip book") + BUTTON, 3),
    "empty_description": (tool(description="") + BUTTON, 3),
    "missing_notr": (tool(notr="") + BUTTON, 4),
    "automatic_name": (tool() + field("QLineEdit", "lineEdit_3", **NAMED) + BUTTON, 6),
    "undescribed_parameter": (tool() + field("QLineEdit", "city") + BUTTON, 6),
    "mixed_group": (
        tool() + field("QLineEdit", "a", toolParamName="x") + field("QCheckBox", "b", toolParamName="x") + BUTTON,
        6,
    ),
    "repeated_name": (
        tool() + field("QLineEdit", "a", toolParamName="x") + field("QLineEdit", "b", toolParamName="x") + BUTTON,
        6,
    ),
    "no_submit": (tool() + field("QLineEdit", "city", **NAMED), 3),
    "destructive_auto_submit": (
        tool()
        + '<property name="toolRisk" stdset="0"><string notr="true">destructive</string></property>'
        + '<property name="toolAutoSubmit" stdset="0"><bool>true</bool></property>'
        + BUTTON,
        3,
    ),
    "unknown_risk": (
        tool() + '<property name="toolRisk" stdset="0"><string notr="true">mild</string></property>' + BUTTON,
        3,
    ),
    "repetitive_description": (
        tool(description="Give city, hotel and people.")
        + "".join(field("QLineEdit", name, **NAMED) for name in ("city", "hotel", "people"))
        + BUTTON,
        3,
    ),
    "unknown_dependency": (tool() + field("QLineEdit", "city", toolDependsOn="land", **NAMED) + BUTTON, 6),
    "item_values": (tool() + field("QLineEdit", "city", toolItemValues="a b", **NAMED) + BUTTON, 6),
    "duplicate_name": (
        f'<widget class="QWidget" name="one">{tool()}{BUTTON}</widget>\n<widget class="QWidget" name="two">'
        + tool()
        + BUTTON.replace("book", "book2")
        + "</widget>",
        7,
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_each_finding_is_found_on_its_line(code, tmp_path, capsys, qapp):
    body, line = CASES[code]
    path = tmp_path / "form.ui"
    path.write_text(HEAD + body + TAIL)
    assert main(["lint", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(finding["code"], finding["line"]) for finding in found] == [(code, line)], found


def test_a_good_form_has_no_finding_and_the_exit_code_says_so(tmp_path, capsys, qapp):
    path = tmp_path / "form.ui"
    path.write_text(HEAD + tool() + field("QLineEdit", "city", **NAMED) + BUTTON + TAIL)
    assert main(["lint", str(path)]) == 0
    assert capsys.readouterr().out == ""


def test_text_names_file_line_and_code(tmp_path, capsys, qapp):
    path = tmp_path / "form.ui"
    path.write_text(HEAD + tool(notr="") + BUTTON + TAIL)
    assert main(["lint", str(path)]) == 1
    assert capsys.readouterr().out.startswith(f"{path}:4: missing_notr: trip ")


@pytest.mark.parametrize("given", ["no.ui", "nothing", "nowhere:Nothing", "json:dumps"])
def test_what_cannot_be_looked_at_is_wrong_usage(given, capsys, qapp):
    assert main(["lint", given]) == 2
    assert "agentic-qt lint:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def Window(): raise ValueError('one\\ntwo')", "ValueError: one two"),
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    ],
)
def test_a_module_that_fails_is_told_in_one_line(source, said, tmp_path, monkeypatch, capsys, qapp):
    (tmp_path / "failing_window.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "failing_window", raising=False)
    assert main(["lint", "failing_window:Window"]) == 2
    assert capsys.readouterr().err == f"agentic-qt lint: failing_window:Window cannot be made: {said}\n"


def test_a_file_that_may_not_be_read_is_told_in_one_line(monkeypatch, capsys, qapp, tmp_path):
    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert main(["lint", "secret.ui"]) == 2
    assert capsys.readouterr().err == "agentic-qt lint: secret.ui: Permission denied\n"


def test_a_class_is_made_and_looked_at(capsys, qapp):
    assert main(["lint", "tests.devtools.lint_sample:Sample"]) == 1
    assert "undescribed_parameter" in capsys.readouterr().out


def test_a_dependency_on_what_is_in_the_form_is_none_to_mend(qapp):
    form = make_form()
    form.findChild(QWidget, "people").setProperty("toolDependsOn", "city, later")
    later = QLineEdit(form, enabled=False)  # the application enables it when it is needed
    later.setProperty("toolParamName", "later")
    assert lint_form(form) == []


@pytest.mark.parametrize(
    ("items", "values", "said"),
    [
        (["A", "B"], "a b c", ["has 3 toolItemValues for 2 items"]),
        (["A", "B"], ["a", "a"], ["has a value twice in its toolItemValues: only the first item counts"]),
        (["A", "B"], ["a"], []),
        ([], "a b", []),
    ],
)
@pytest.mark.parametrize("kind", [QComboBox, QListWidget])
def test_values_of_items_fit_the_items(kind, items, values, said, qapp):
    form = make_form()
    choice = kind(form, objectName="size", accessibleName="Size")
    choice.addItems(items)
    choice.setProperty("toolItemValues", values)
    found = [finding.message for finding in lint_form(form) if finding.code == "item_values"]
    assert found == [f"'size' {one}" for one in said]


def test_a_required_field_without_a_name_is_a_finding_of_its_own(qapp):
    form = make_form()
    nameless = QLineEdit(form)
    assert [finding.code for finding in lint_window(form)] == ["unnamed_parameter"]
    nameless.setProperty("toolRequired", True)
    assert [finding.code for finding in lint_window(form)] == ["unnamed_required_parameter"]


def test_a_reserved_name_is_a_finding(qapp):
    form = make_form()
    form.findChild(QWidget, "city").setObjectName("ctx")
    assert [finding.code for finding in lint_window(form)] == ["reserved_name"]
