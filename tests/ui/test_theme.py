"""Palettes, derived colours and icons."""

from dataclasses import fields

import pytest
from PySide6.QtGui import QColor, QIcon, QPalette

from agentic_qt.ui.icons import icon
from agentic_qt.ui.resource_files import resource
from agentic_qt.ui.theme import Tones, apply_theme, contrast, current_theme, make_palette, readable

TEXTS = ("text", "muted", "link", "ok", "warning", "danger", "info")
GROUNDS = ("base", "card", "code", "user", "danger_card")


@pytest.fixture
def theme(qapp):
    yield lambda scheme: apply_theme(qapp, scheme)
    apply_theme(qapp, "system")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("text", TEXTS)
def test_every_text_colour_can_be_read_on_every_background(qapp, scheme, text):
    palette = make_palette(scheme)
    tones = Tones.of(palette)
    for ground in GROUNDS:
        assert contrast(getattr(tones, text), getattr(tones, ground)) >= 4.5, ground
    assert contrast(getattr(tones, text), palette.color(QPalette.ColorRole.Window)) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_palettes_own_texts_can_be_read(qapp, scheme):
    palette = make_palette(scheme)
    role = QPalette.ColorRole
    pairs = [
        (role.WindowText, role.Window),
        (role.Text, role.Base),
        (role.Text, role.AlternateBase),
        (role.ButtonText, role.Button),
        (role.PlaceholderText, role.Base),
        (role.HighlightedText, role.Highlight),
        (role.ToolTipText, role.ToolTipBase),
        (role.Link, role.Base),
    ]
    for front, back in pairs:
        assert contrast(palette.color(front), palette.color(back)) >= 4.5, (front, back)


@pytest.mark.parametrize("base", ["#000000", "#3b3b3b", "#777777", "#c0c0c0", "#ffffe0", "#002b36"])
def test_the_status_colours_can_be_read_in_the_palette_of_a_host(qapp, base):
    palette = QPalette(QColor(base), QColor(base))
    palette.setColor(QPalette.ColorRole.Base, QColor(base))
    tones = Tones.of(palette)
    for name in ("ok", "warning", "danger", "info"):
        assert contrast(getattr(tones, name), tones.base) >= 4.5, name


def test_a_readable_colour_is_left_alone(qapp):
    assert readable(QColor("#000000"), QColor("#ffffff")) == QColor("#000000")


def test_contrast_is_that_of_the_standard(qapp):
    assert contrast(QColor("white"), QColor("black")) == pytest.approx(21.0)
    assert contrast(QColor("#777777"), QColor("white")) == pytest.approx(4.48, abs=0.01)


def test_dark_and_light_reach_the_application_where_the_platform_cannot_switch(qapp, theme):
    theme("dark")
    assert current_theme(qapp) == "dark"
    assert Tones.of(qapp.palette()).dark
    theme("light")
    assert current_theme(qapp) == "light"
    assert not Tones.of(qapp.palette()).dark


def test_the_system_theme_gives_the_platform_its_palette_back(qapp, theme):
    theme("system")
    before = qapp.palette().color(QPalette.ColorRole.Base)
    theme("dark")
    assert qapp.palette().color(QPalette.ColorRole.Base) != before
    theme("system")
    assert qapp.palette().color(QPalette.ColorRole.Base) == before
    assert current_theme(qapp) == "system"


def test_an_icon_has_the_colour_it_is_asked_for(qapp):
    image = icon("stop", QColor("#ff0000"), QColor("#0000ff")).pixmap(24, 24).toImage()
    assert image.pixelColor(image.width() // 2, image.height() // 2) == QColor("#ff0000")
    disabled = icon("stop", QColor("#ff0000"), QColor("#0000ff")).pixmap(24, 24, QIcon.Mode.Disabled).toImage()
    assert disabled.pixelColor(disabled.width() // 2, disabled.height() // 2) == QColor("#0000ff")


def test_a_missing_resource_is_named():
    with pytest.raises(FileNotFoundError, match=r"icons/nothing\.svg"):
        resource("icons", "nothing.svg")


def test_every_tone_is_a_colour(qapp):
    tones = Tones.of(make_palette("dark"))
    assert all(isinstance(getattr(tones, field.name), QColor) for field in fields(tones) if field.name != "dark")
