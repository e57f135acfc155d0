"""Tool properties in the text of a .ui file."""

from pathlib import Path

import pytest

from agentic_qt.devtools.designer.ui_text import UiTextError, normal, read_properties, with_properties

CARS = (Path(__file__).parent / "cars.ui").read_text(encoding="utf-8")
NAME = '<property name="toolName" stdset="0"><string notr="true">a.b</string></property>'


def test_what_is_written_is_read_again() -> None:
    entered = {
        "search_box": {"toolName": "a.b", "toolDescription": 'one\n<two> & "three"', "toolAutoSubmit": True},
        "city": {"toolRequired": False, "toolParamName": "Ort"},
    }
    assert read_properties(with_properties(CARS, entered)) == entered


def test_names_and_texts_for_the_model_are_never_translated_and_a_title_is() -> None:
    text = with_properties(CARS, {"search_box": {"toolName": "a.b", "toolTitle": "Cars"}})
    assert NAME in text
    assert '<property name="toolTitle" stdset="0"><string>Cars</string></property>' in text


def test_a_name_that_was_written_by_hand_is_marked_too() -> None:
    by_hand = with_properties(CARS, {"city": {"toolParamName": "town"}}).replace(' notr="true"', "")
    assert "notr" not in by_hand
    assert '<string notr="true">town</string>' in with_properties(by_hand, {})


def test_a_property_is_taken_away_without_a_trace() -> None:
    exposed = with_properties(CARS, {"city": {"toolRequired": True, "toolParamName": "town"}})
    assert with_properties(exposed, {"city": {"toolRequired": None, "toolParamName": None}}) == normal(CARS)


def test_everything_else_in_the_form_stays() -> None:
    text = with_properties(CARS, {"city": {"toolRequired": True}})
    written = '<property name="toolRequired" stdset="0"><bool>true</bool></property>'
    assert text.replace(written, "") == normal(CARS)


def test_lists_keep_their_words_and_are_not_translated_either() -> None:
    text = with_properties(CARS, {"city": {"toolRequired": True}}).replace(
        "<bool>true</bool>", "<stringlist><string>a</string></stringlist>"
    )
    assert read_properties(text) == {"city": {"toolRequired": ("a",)}}
    marked = '<stringlist notr="true"><string>a</string></stringlist>'
    assert marked in with_properties(text, {"seats": {"toolRequired": True}})


@pytest.mark.parametrize("text", ["", "<ui", "<html/>"])
def test_what_is_no_ui_file_is_refused(text: str) -> None:
    with pytest.raises(UiTextError, match=r"no \.ui file"):
        read_properties(text)


def test_an_object_that_is_not_in_the_form_is_refused() -> None:
    with pytest.raises(UiTextError, match="'nobody'"):
        with_properties(CARS, {"nobody": {"toolRequired": True}})
