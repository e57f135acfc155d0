"""Which fields a form has, under which keys, in which order; the strict profile where it differs from a browser's."""

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QDialogButtonBox,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QRadioButton,
    QSpinBox,
    QStackedLayout,
    QTableWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.qt.forms.synthesise import input_schema, synthesise
from agentic_qt.qt.forms.walker import is_form, walk


def keys(form, profile="strict"):
    return [field.key for field in walk(form, profile).fields]


def labels(form):
    return {field.key: field.label for field in walk(form).fields}


def descriptions(form):
    return {field.key: field.description for field in walk(form).fields}


def test_a_hidden_field_belongs_to_the_browser_s_form_only(make_form):
    """FC-75: nobody sees it."""
    gone = QLineEdit()
    form = make_form(("shown", QLineEdit()), ("gone", gone))
    gone.hide()
    assert keys(form) == ["shown"]
    assert keys(form, "chromium") == ["shown", "gone"]
    form.show()
    assert keys(form) == ["shown"]


def test_a_field_in_a_hidden_container_is_hidden(make_form):
    container = QWidget()
    QVBoxLayout(container).addWidget(QLineEdit(objectName="inner"))
    form = make_form(("container", container))
    container.hide()
    assert keys(form) == []


@pytest.mark.parametrize("shown", [False, True])
def test_the_pages_behind_the_current_tab_belong_to_the_form(make_form, shown):
    tabs = QTabWidget()
    for name in ("one", "two"):
        page = QWidget()
        QVBoxLayout(page).addWidget(QLineEdit(objectName=name))
        tabs.addTab(page, name)
    form = make_form(("tabs", tabs))
    form.setVisible(shown)
    assert keys(form) == ["one", "two"]


@pytest.mark.parametrize("shown", [False, True])
def test_a_tab_that_the_application_took_away_is_no_part_of_the_form(make_form, shown):
    tabs = QTabWidget()
    for name in ("first", "second"):
        page = QWidget()
        QLineEdit(page).setObjectName(name)
        tabs.addTab(page, name)
    form = make_form(("tabs", tabs))
    form.setVisible(shown)
    tabs.setTabVisible(1, False)
    assert keys(form) == ["first"]
    tabs.setTabVisible(1, True)
    assert keys(form) == ["first", "second"]
    form.hide()


def test_the_pages_of_a_stacked_layout_belong_to_the_form(make_form):
    container = QWidget()
    stack = QStackedLayout(container)
    for name in ("one", "two"):
        page = QWidget()
        QVBoxLayout(page).addWidget(QLineEdit(objectName=name))
        stack.addWidget(page)
    form = make_form(("container", container))
    form.show()
    assert keys(form) == ["one", "two"]


def test_a_read_only_disabled_secret_or_excluded_field_is_none(make_form):
    """FC-75."""
    read_only, disabled, secret, excluded = (QLineEdit(text="x") for _ in range(4))
    read_only.setReadOnly(True)
    disabled.setEnabled(False)
    secret.setEchoMode(QLineEdit.EchoMode.PasswordEchoOnEdit)
    excluded.setProperty("toolExclude", True)
    form = make_form(("a", read_only), ("b", disabled), ("c", secret), ("d", excluded), ("e", QLineEdit()))
    assert keys(form) == ["e"]
    assert keys(form, "chromium") == ["c", "e"]


def test_a_disabled_form_keeps_its_fields(make_form):
    form = make_form(("a", QLineEdit()))
    form.setEnabled(False)
    assert keys(form) == ["a"]


def test_an_inner_form_owns_its_fields(make_form):
    inner = make_form(("b", QLineEdit()), name="inner")
    form = make_form(("a", QLineEdit()), ("inner", inner))
    assert keys(form) == ["a"]
    assert keys(inner) == ["b"]
    assert is_form(inner)


def test_a_window_of_its_own_is_no_part_of_the_form(make_form):
    form = make_form(("a", QLineEdit()))
    window = QWidget(form)
    window.setWindowFlag(window.windowFlags().Window)
    QLineEdit(window).setObjectName("b")
    assert keys(form) == ["a"]


def test_nothing_is_taken_from_inside_of_composites(make_form):
    form = make_form(("n", QSpinBox()), ("table", QTableWidget(2, 2)), ("buttons", QDialogButtonBox()))
    assert keys(form) == ["n"]


def test_the_focus_chain_gives_the_order(make_form):
    first, second = QLineEdit(), QLineEdit()
    form = make_form(("a", first), ("b", second), ("c", QLineEdit()))
    QWidget.setTabOrder(second, first)
    assert keys(form) == ["b", "a", "c"]
    assert keys(form, "chromium") == ["a", "b", "c"]


def test_a_param_name_goes_before_the_object_name(make_form):
    edit = QLineEdit()
    edit.setProperty("toolParamName", " real ")
    assert keys(make_form(("lineEdit_3", edit))) == ["real"]


def test_names_of_qt_and_empty_names_are_dropped_and_told(make_form):
    form = make_form(("", QLineEdit()), ("qt_internal", QLineEdit()), ("a", QLineEdit()))
    found = walk(form)
    assert [field.key for field in found.fields] == ["a"]
    assert [dropped.reason for dropped in found.dropped] == ["unnamed", "unnamed"]


def test_two_kinds_under_one_name_are_dropped_and_told(make_form):
    box = QCheckBox()
    box.setProperty("toolRequired", True)
    dropped = walk(make_form(("a", box), ("a", QLineEdit()), ("b", QLineEdit()), ("b", QLineEdit()))).dropped
    assert [(drop.key, drop.reason, drop.required) for drop in dropped] == [
        ("a", "mixed", True),
        ("b", "repeated", False),
    ]


def test_radio_buttons_in_a_box_are_one_field_under_its_name(make_form):
    box = QGroupBox("Size of the &shirt")
    layout = QVBoxLayout(box)
    for name in ("small", "large"):
        layout.addWidget(QRadioButton(name.title(), objectName=name))
    form = make_form(("size", box))
    assert input_schema(form)["properties"] == {
        "size": {
            "type": "string",
            "enum": ["small", "large"],
            "description": "Size of the shirt; small = Small; large = Large",
        }
    }
    assert labels(form) == {"size": "Size of the shirt"}


def test_radio_buttons_without_a_name_of_their_own_are_told(make_form):
    form = make_form(("small", QRadioButton("Small")), ("large", QRadioButton("Large")))
    found = walk(form)
    assert found.fields == ()
    assert {drop.reason for drop in found.dropped} == {"unnamed"}


def test_a_button_group_keeps_its_list_when_one_button_is_disabled(make_form):
    boxes = QCheckBox("One"), QCheckBox("Two")
    form = make_form(("one", boxes[0]), ("two", boxes[1]))
    group = QButtonGroup(form, objectName="numbers", exclusive=False)
    for box in boxes:
        group.addButton(box)
    boxes[1].setEnabled(False)
    assert input_schema(form)["properties"]["numbers"]["type"] == "array"
    assert input_schema(form, "chromium")["properties"]["numbers"]["type"] == "boolean"


def test_fields_in_an_unchecked_box_depend_on_it(make_form):
    box = QGroupBox("Gift", checkable=True, checked=False)
    QVBoxLayout(box).addWidget(QLineEdit(objectName="greeting"))
    form = make_form(("gift", box))
    greeting = walk(form).fields[1]
    assert (greeting.key, greeting.gate, greeting.depends_on) == ("greeting", "gift", ("gift",))
    assert keys(form, "chromium") == ["gift"]


def test_a_checkable_action_is_a_field_when_it_is_named(make_form):
    form = make_form(("a", QLineEdit()))
    for name in ("bold", ""):
        action = QAction("&Bold", form, checkable=True)
        form.addAction(action)
        if name:
            action.setProperty("toolParamName", name)
    assert keys(form) == ["a", "bold"]
    assert descriptions(form)["bold"] == "Bold"


@pytest.mark.parametrize(
    ("set_text", "expected"),
    [
        (lambda edit: edit.setProperty("toolParamDescription", "Said: "), "Said:"),
        (lambda edit: edit.setAccessibleDescription("Read out"), "Read out"),
        (lambda edit: edit.setWhatsThis("<b>What</b> this is"), "What this is"),
        (lambda edit: edit.setToolTip("A tip"), "A tip"),
        (lambda edit: edit.setStatusTip("A status"), "A status"),
        (lambda edit: edit.setAccessibleName("A name"), "A name"),
        (lambda edit: edit.setPlaceholderText("Like this"), "Like this"),
        (lambda edit: edit.setProperty("toolUnit", "km"), "(unit: km)"),
    ],
)
def test_a_description_is_taken_from_what_qt_knows(make_form, set_text, expected):
    edit = QLineEdit()
    set_text(edit)
    assert descriptions(make_form(("a", edit))) == {"a": expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("&Full name *:", "Full name"), ("<b>Full</b> name", "Full name"), ("A && B:", "A & B"), ("a < b", "a < b")],
)
def test_a_label_loses_what_only_guides_the_eye(make_form, text, expected):
    form = make_form(("a", QLineEdit(), text))
    assert (descriptions(form), labels(form)) == ({"a": expected}, {"a": expected})


def test_a_row_of_a_form_layout_needs_no_buddy(make_form):
    form = make_form(("a", QLineEdit(), QLabel("Given name:")))
    assert descriptions(form) == {"a": "Given name"}


def test_the_first_field_of_several_in_a_row_has_the_row_s_label(make_form):
    row = QHBoxLayout()
    row.addWidget(QLineEdit(objectName="a"))
    row.addWidget(QLineEdit(objectName="b"))
    form = make_form()
    form.layout().addRow(QLabel("Two of them"), row)
    assert descriptions(form) == {"a": "Two of them", "b": ""}


def test_a_change_is_seen_at_the_next_look(make_form):
    edit = QSpinBox()
    form = make_form(("a", edit, QLabel("Old")))
    synthesise(form)
    form.findChild(QLabel).setText("New")
    edit.setMaximum(7)
    edit.setValue(5)
    assert input_schema(form)["properties"]["a"] == {
        "type": "integer",
        "minimum": 0,
        "maximum": 7,
        "description": "New",
        "default": 5,
    }


@pytest.mark.parametrize("name", [None, "", "two words", "x" * 129, "tìm", "a\n", 5])
def test_a_bad_name_makes_no_tool(make_form, name):
    assert synthesise(make_form(("a", QLineEdit()), name=name)) is None
