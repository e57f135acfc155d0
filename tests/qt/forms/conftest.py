"""Forms for the tests: made by code, from a .ui file by uic, and from it by QUiLoader."""

import subprocess
from pathlib import Path

import PySide6
import pytest
from PySide6.QtCore import QFile, QIODevice
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QDialog, QFormLayout, QWidget

FILES = Path(__file__).parents[2] / "data" / "forms"


def load_ui(name):
    """The form of a .ui file by QUiLoader."""
    device = QFile(str(FILES / name))
    assert device.open(QIODevice.OpenModeFlag.ReadOnly)
    form = QUiLoader().load(device)
    device.close()
    return form


def compile_ui(name):
    """The form of a .ui file by uic, which writes Python."""
    program = Path(PySide6.__file__).parent / "Qt" / "libexec" / "uic"
    if not program.exists():
        pytest.skip("this build of PySide6 brings no uic where it is looked for")
    done = subprocess.run(
        [program, "-g", "python", FILES / name], capture_output=True, text=True, timeout=30, check=True
    )
    names = {}
    exec(compile(done.stdout, name, "exec"), names)
    made = next(value for key, value in names.items() if key.startswith("Ui_"))()
    form = QDialog() if "QDialog" in done.stdout else QWidget()
    made.setupUi(form)
    form.ui = made  # the button groups are attributes of it
    return form


@pytest.fixture(params=["loader", "uic"])
def make_ui(request, qapp):
    return {"loader": load_ui, "uic": compile_ui}[request.param]


@pytest.fixture
def make_form(qapp):
    """Make a declared form of (name, widget) rows, or of (name, widget, label)."""

    def make(*rows, name="a.form", description="A form"):
        form = QWidget()
        form.setProperty("toolName", name)
        form.setProperty("toolDescription", description)
        layout = QFormLayout(form)
        for key, widget, *label in rows:
            widget.setObjectName(key)
            layout.addRow(label[0], widget) if label else layout.addRow(widget)
        return form

    return make
