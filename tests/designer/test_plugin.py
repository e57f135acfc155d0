"""The plugin in a real Qt Designer, started as a programmer starts it, without a display and without a person."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QGroupBox, QMainWindow

from agentic_qt.devtools.designer import self_test
from agentic_qt.devtools.designer.twin import find_form, loaded
from agentic_qt.devtools.designer.ui_text import normal, read_properties, with_properties
from agentic_qt.devtools.designer_command import missing_library
from agentic_qt.qt.forms.synthesise import synthesise
from agentic_qt.ui.places import AssistantPlace

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 50
PLAN = {
    "open_at": "search_box",
    "reopen_at": "seats",
    "name": "cars.search",
    "title": "Car search",
    "description": "Finds cars that can be rented in a city.",
    "risk": "read",
    "auto_submit": True,
    "fields": {
        "city": {"description": "City, or an airport's code", "required": True},
        "seats": {"name": "min_seats"},
        "remember_me": {"excluded": True},
    },
    "details": {
        "seats": {"unit": "persons"},
        "city": {"sensitive": True},
        "category": {"depends_on": "city", "item_values": ["small", "estate, long", "van"]},
    },
}

pytestmark = [
    pytest.mark.skipif(bool(missing_library()), reason=missing_library() or "-"),
    pytest.mark.usefixtures("qapp"),
]


def run_designer(form: Path, folder: Path) -> tuple[int, str]:
    """Run the command in a group of its own: it starts Designer through another process."""
    # A home of its own: Designer keeps settings and, after a crash, forms to recover, about which it asks.
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
    environ = {**os.environ, **home, "QT_QPA_PLATFORM": "offscreen", self_test.FOLDER: str(folder)}
    running = subprocess.Popen(
        [sys.executable, "-m", "agentic_qt", "designer", str(form)],
        cwd=ROOT,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, printed = running.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        _, printed = running.communicate()
        pytest.fail(f"Designer did not end: {printed}")
    return running.returncode, printed


@pytest.fixture(scope="module")
def designer(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """One run of Designer for all tests: what it reported and what it saved."""
    folder = tmp_path_factory.mktemp("designer")
    form = folder / "form.ui"
    form.write_bytes((Path(__file__).parent / "cars.ui").read_bytes())
    (folder / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    code, printed = run_designer(form, folder)
    report = folder / "report.json"
    assert report.exists(), f"Designer ended with {code}: {printed}"
    told = json.loads(report.read_text(encoding="utf-8"))
    assert (code, told.get("error")) == (self_test.PASSED, None), printed
    return SimpleNamespace(folder=folder, report=told, saved=form.read_text(encoding="utf-8"))


def compiled(ui: Path) -> ModuleType:
    """What uic makes of a form, imported."""
    made = ui.with_name("ui_form.py")
    command = [sys.executable, "-c", "from PySide6.scripts.pyside_tool import uic; uic()", str(ui), "-o", str(made)]
    subprocess.run(command, check=True, timeout=LIMIT_S)
    spec = importlib.util.spec_from_file_location("ui_form", made)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_widget_box_offers_the_places_for_the_assistant_and_for_approvals(designer: Any) -> None:
    assert designer.report["widget_box"] == {"Assistant": ["AssistantPlace", "ApprovalPlace"]}


def test_each_container_and_input_has_the_menu_entry_and_nothing_else(designer: Any) -> None:
    with_entry = {name for name, text in designer.report["menus"].items() if text == "Expose to the assistant..."}
    assert with_entry == {"search_box", "city", "seats", "category", "remember_me", "assistant_dock"}
    assert {name for name, text in designer.report["menus"].items() if not text} >= {"city_label", "find"}


def test_the_preview_in_designer_is_the_tool_that_the_saved_form_makes(designer: Any) -> None:
    with loaded(designer.saved) as root:
        tool = synthesise(find_form(root, "search_box"))
    assert json.loads(designer.report["preview"]) == tool
    assert designer.report["findings"] == ""


def test_exposing_a_form_is_undone_and_redone_and_marks_it_as_changed(designer: Any) -> None:
    assert designer.report["undo"] == {"changed": True, "dirty": True, "steps": 1, "undone": True, "redone": True}


def test_a_switch_alone_is_one_more_step_on_designers_own_undo_stack(designer: Any) -> None:
    assert designer.report["switch"] == {"changed": True, "kept_steps": True, "undone": True}


def test_the_entry_of_an_input_opens_its_form_with_its_line_chosen(designer: Any) -> None:
    assert designer.report["reopened"] == {"name": "cars.search", "line": 1}


def test_designers_own_save_writes_the_declaration(designer: Any) -> None:
    assert designer.report["saved"] is True
    properties = read_properties(designer.saved)
    assert properties == {
        "search_box": {
            "toolName": "cars.search",
            "toolDescription": "Finds cars that can be rented in a city.",
            "toolTitle": "Car search",
            "toolReadOnly": True,
            "toolAutoSubmit": True,
        },
        "city": {
            "toolRequired": True,
            "toolSensitive": True,
            "toolParamDescription": "City, or an airport's code",
        },
        "seats": {"toolParamName": "min_seats", "toolUnit": "persons"},
        "category": {"toolDependsOn": "city", "toolItemValues": ("small", "estate, long", "van")},
        "remember_me": {"toolExclude": True},
    }
    assert with_properties(designer.saved, {}) == normal(designer.saved)  # each name is marked already


def test_uic_and_the_ui_loader_make_the_same_tool_of_the_saved_form(designer: Any, qtbot: Any) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    made = compiled(designer.folder / "form.ui").Ui_CarWindow()
    made.setupUi(window)
    assert isinstance(made.assistant_place, AssistantPlace)
    box = window.findChild(QGroupBox, "search_box")
    with loaded(designer.saved) as root:
        expected = synthesise(find_form(root, "search_box"))
    assert expected is not None
    assert list(expected["inputSchema"]["properties"]) == ["city", "min_seats", "category"]
    assert "(unit: persons)" in expected["inputSchema"]["properties"]["min_seats"]["description"]
    assert synthesise(box) == expected
    box.setProperty("toolName", "cars.renamed")
    made.retranslateUi(window)
    assert box.property("toolName") == "cars.renamed"  # a translated one would have been set again


def test_the_pictures_of_the_dialog_and_of_designer_show_something(designer: Any) -> None:
    for name, width in (("dialog.png", 700), ("designer.png", 1300)):
        picture = QImage(str(designer.folder / name))
        assert picture.width() >= width
        colours = {picture.pixel(x, y) for x in range(0, picture.width(), 7) for y in range(0, picture.height(), 7)}
        assert len(colours) > 10


def test_a_self_test_that_breaks_says_so_and_ends_designer(tmp_path: Path) -> None:
    form = tmp_path / "form.ui"
    form.write_bytes((Path(__file__).parent / "cars.ui").read_bytes())
    (tmp_path / "plan.json").write_text(json.dumps({**PLAN, "open_at": "find"}), encoding="utf-8")
    code, _ = run_designer(form, tmp_path)
    assert code == self_test.BROKEN
    assert "find has no menu entry" in json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["error"]
