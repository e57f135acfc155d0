"""The lint of forms: the browser's findings and ours, with the lines of a .ui file."""

import json

import pytest
from PySide6.QtWidgets import QLineEdit, QWidget

from agentic_qt.cli import main
from agentic_qt.qt.forms.lint import lint_window
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


def test_a_class_is_made_and_looked_at(capsys, qapp):
    assert main(["lint", "tests.devtools.lint_sample:Sample"]) == 1
    assert "undescribed_parameter" in capsys.readouterr().out


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
