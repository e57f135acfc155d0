"""What is wrong with a form as a tool; asked while the dialog is open. The rules are those of `agentic-qt lint`."""

from PySide6.QtCore import QCoreApplication, QObject

from agentic_qt.devtools.designer.twin import find_form, loaded
from agentic_qt.qt.forms.lint import lint_window
from agentic_qt.qt.forms.walker import is_form

translate = QCoreApplication.translate


def findings_of(ui: str, form_name: str) -> tuple[str, ...]:
    """Return what should be mended in a form, one sentence each; other forms in the window do not count.

    Raises:
        UiTextError: The text cannot be loaded, or has no such widget.
    """
    with loaded(ui) as root:
        form = find_form(root, form_name)
        if not is_form(form):
            return (translate("agentic_qt", "It is no tool yet: it needs a name."),)
        inside = {form_name, *(child.objectName() for child in form.findChildren(QObject) if child.objectName())}
        return tuple(
            finding.message
            for finding in lint_window(root)
            if finding.widget in inside or finding.code == "duplicate_name"
        )
