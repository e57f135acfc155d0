"""What Qt Designer runs to find the plugin: registration only, since its loader forgets the globals of this file."""

from PySide6.QtDesigner import QPyDesignerCustomWidgetCollection

from agentic_qt.devtools.designer.widget_box import ApprovalEntry, AssistantEntry

QPyDesignerCustomWidgetCollection.addCustomWidget(AssistantEntry())
QPyDesignerCustomWidgetCollection.addCustomWidget(ApprovalEntry())
