"""Choices: combo boxes, lists and trees, and how their items become values."""

import pytest
from PySide6.QtCore import QStringListModel, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QComboBox,
    QFontComboBox,
    QListView,
    QListWidget,
    QTreeView,
)

from agentic_qt.qt.forms.fill import FillError, check, fill, restore, take_snapshot
from agentic_qt.qt.forms.synthesise import input_schema


def schema(form, key):
    return input_schema(form)["properties"][key]


def refused(form, values):
    with pytest.raises(FillError) as refusal:
        fill(form, values)
    return [issue.keyword for issue in refusal.value.issues]


def test_a_very_long_list_is_not_spelled_out(make_form):
    combo = QComboBox()
    combo.addItems([f"option {number}" for number in range(300)])
    form = make_form(("c", combo))
    assert "enum" not in schema(form, "c")
    assert len(schema(form, "c")["examples"]) == 20
    assert fill(form, {"c": "option 299"}).after.values == {"c": "option 299"}
    assert refused(form, {"c": "option 300"}) == ["refused"]


def test_an_empty_list_takes_nothing_but_nothing(make_form):
    form = make_form(("c", QComboBox()))
    assert schema(form, "c") == {"type": "string", "enum": [""]}
    assert refused(form, {"c": "x"}) == ["enum"]


def test_named_item_values_go_before_data(make_form):
    combo = QComboBox()
    combo.addItems(["Red wine", "White wine"])
    combo.setProperty("toolItemValues", ["red", "white"])
    form = make_form(("wine", combo))
    assert schema(form, "wine")["enum"] == ["red", "white"]
    assert schema(form, "wine")["description"] == "red = Red wine; white = White wine"
    assert fill(form, {"wine": "white"}).after.values == {"wine": "white"}
    assert combo.currentText() == "White wine"


@pytest.mark.parametrize("values", [["", "red", "white"], ",red,white", " , red , white"])
def test_an_empty_item_value_keeps_its_place(make_form, values):
    combo = QComboBox()
    combo.addItems(["Please choose", "Red wine", "White wine"])
    combo.setProperty("toolItemValues", values)
    form = make_form(("wine", combo))
    assert schema(form, "wine")["enum"] == ["", "red", "white"]
    assert fill(form, {"wine": "red"}).after.values == {"wine": "red"}
    assert combo.currentText() == "Red wine"


def test_the_items_of_a_list_may_be_named_too(make_form):
    view = QListWidget()
    view.addItems(["Nothing", "Red wine"])
    view.setProperty("toolItemValues", ["", "red"])
    form = make_form(("wine", view))
    assert schema(form, "wine")["enum"] == ["", "red"]
    assert fill(form, {"wine": "red"}).after.values == {"wine": "red"}
    assert view.currentItem().text() == "Red wine"
    view.setProperty("toolItemValues", ["none", "red"])
    assert schema(form, "wine")["enum"] == ["none", "red"]


def test_item_values_may_be_numbers_or_left_out_for_some(make_form):
    combo = QComboBox()
    combo.addItems(["One", "Two", "Three", "Four"])
    combo.setProperty("toolItemValues", [1, None, 3])
    form = make_form(("count", combo))
    assert schema(form, "count")["enum"] == ["1", "Two", "3", "Four"]
    assert fill(form, {"count": "3"}).after.values == {"count": "3"}
    assert combo.currentText() == "Three"


def test_a_combo_box_of_fonts_takes_a_font(make_form):
    combo = QFontComboBox()
    form = make_form(("font", combo))
    name = combo.itemText(combo.count() - 1)
    assert fill(form, {"font": name}).after.values == {"font": name}


def test_a_combo_box_without_a_choice_gets_one_and_loses_it_again(make_form):
    combo = QComboBox()
    combo.addItems(["a", "b"])
    combo.setCurrentIndex(-1)
    form = make_form(("c", combo))
    assert "default" not in schema(form, "c")
    filled = fill(form, {"c": "b"})
    assert restore(form, filled.before) == ()
    assert combo.currentIndex() == -1


def test_a_tree_takes_paths(make_form):
    model = QStandardItemModel()
    for name in ("Asia", "Europe"):
        parent = QStandardItem(name)
        parent.appendRow(QStandardItem("Other"))
        model.appendRow(parent)
    view = QTreeView()
    view.setModel(model)
    form = make_form(("place", view))
    assert schema(form, "place")["enum"] == ["Asia", "Europe", "Asia / Other", "Europe / Other"]
    assert fill(form, {"place": "Europe / Other"}).after.values == {"place": "Europe / Other"}
    assert check(form, {"place": "Other"}) != ()  # which one?


def test_a_list_view_shows_a_model_of_any_kind(make_form):
    view = QListView()
    view.setModel(QStringListModel(["a", "b"], view))
    form = make_form(("l", view))
    assert fill(form, {"l": "b"}).after.values == {"l": "b"}
    assert restore(form, take_snapshot(form)) == ()


def test_a_view_without_a_model_offers_nothing(make_form):
    assert schema(make_form(("l", QListView())), "l") == {"type": "string", "enum": [""]}


def test_the_items_of_a_list_are_those_that_it_has_now(make_form):
    view = QListWidget()
    view.addItems(["a", "b"])
    form = make_form(("c", view))
    assert schema(form, "c")["enum"] == ["a", "b"]
    view.addItem("c")
    view.item(0).setText("A")
    view.item(1).setFlags(Qt.ItemFlag.NoItemFlags)
    assert schema(form, "c")["enum"] == ["A", "c"]
    view.takeItem(0)
    assert schema(form, "c")["enum"] == ["c"]
    assert fill(form, {"c": "c"}).after.values == {"c": "c"}
    view.clear()
    assert schema(form, "c")["enum"] == [""]


def test_a_view_with_another_model_or_root_offers_what_is_there(make_form):
    view = QListView()
    view.setModel(QStringListModel(["a"], view))
    form = make_form(("c", view))
    assert schema(form, "c")["enum"] == ["a"]
    model = QStandardItemModel(view)
    parent = QStandardItem("parent")
    parent.appendRow(QStandardItem("child"))
    model.appendRow(parent)
    view.setModel(model)
    assert schema(form, "c")["enum"] == ["parent"]
    view.setRootIndex(model.index(0, 0))
    assert schema(form, "c")["enum"] == ["child"]
