"""The entries of Qt Designer's widget box: the places for the assistant and for its approvals.

Content widgets, to be put into a standard dock: Designer loses the area of a dock of another class when it saves.
"""

import os
from typing import Final

from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtDesigner import QDesignerCustomWidgetInterface, QDesignerFormEditorInterface
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QWidget

from agentic_qt.devtools.designer import self_test, task_menu
from agentic_qt.ui.icons import icon
from agentic_qt.ui.places import ApprovalPlace, AssistantPlace

translate = QCoreApplication.translate

GROUP: Final = "Assistant"
MODULE: Final = "agentic_qt.ui.places"


class _PlaceEntry(QDesignerCustomWidgetInterface):
    """One entry; the first one that Designer initialises brings the menu along."""

    place: type[AssistantPlace | ApprovalPlace]
    object_name: str
    icon_name: str

    def __init__(self) -> None:
        super().__init__()
        self._initialised = False

    def name(self) -> str:
        return self.place.__name__

    def group(self) -> str:
        return GROUP

    def includeFile(self) -> str:
        return MODULE

    def icon(self) -> QIcon:
        return icon(self.icon_name, QApplication.palette().windowText().color())

    def whatsThis(self) -> str:
        return self.toolTip()

    def isContainer(self) -> bool:
        return False

    def isInitialized(self) -> bool:
        return self._initialised

    def initialize(self, core: QDesignerFormEditorInterface) -> None:  # noqa: ARG002 - Designer's signature
        self._initialised = True  # core.propertyEditor() and the rest are None as yet

    def domXml(self) -> str:
        return f'<ui language="c++"><widget class="{self.name()}" name="{self.object_name}"/></ui>'

    def createWidget(self, parent: QWidget) -> QWidget:
        made = self.place(parent)
        made.set_hint(self.toolTip())
        return made


class AssistantEntry(_PlaceEntry):
    """The place for the assistant; also adds the menu entry, and starts the self-test where one is wanted."""

    place = AssistantPlace
    object_name = "assistant_place"
    icon_name = "assistant"

    def toolTip(self) -> str:
        """Say what will stand here."""
        return translate("agentic_qt", "The assistant, for a dock or a layout")

    def initialize(self, core: QDesignerFormEditorInterface) -> None:
        """Add what belongs to no single widget, once."""
        if self.isInitialized():
            return
        super().initialize(core)
        task_menu.install(core)
        folder = os.environ.get(self_test.FOLDER)
        if folder:
            QTimer.singleShot(0, core, lambda: self_test.start(core, folder))


class ApprovalEntry(_PlaceEntry):
    """The place for approvals."""

    place = ApprovalPlace
    object_name = "approval_place"
    icon_name = "check"

    def toolTip(self) -> str:
        """Say what will stand here."""
        return translate("agentic_qt", "Where the assistant asks for approval")
