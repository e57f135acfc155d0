"""Builds the Qt twin of an HTML form that declares a tool: a test-only way to compare with what a browser says."""

import re

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QGroupBox,
    QLabel,
    QLCDNumber,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.qt.forms.synthesise import TOOL_NAME
from tests.support.html_inputs import NOT_FIELDS, add_completer, make_input, number
from tests.support.html_tree import parse_html

CONTROLS = {"input", "select", "textarea"}
TEXTS = {"toolparamdescription": "toolParamDescription", "toolparamtitle": "toolParamTitle"}


def build_form(html):
    """The form widget that the browser would list first; None when the page has no Qt meaning."""
    root = parse_html(html)
    if not has_qt_meaning(root):
        return None
    return Builder(root).build()


def has_qt_meaning(root):
    return not any(lacks_meaning(element) for element in root.walk())


def lacks_meaning(element):
    attributes = element.attributes
    if "-" in element.tag or element.tag in {"details", "object"}:
        return True
    if element.tag == "form":
        return "novalidate" in attributes or attributes.get("method", "get") == "post"
    if "contenteditable" in attributes or "inert" in attributes:
        return True
    if element.tag in {"output", "meter"}:
        return True
    if element.tag in {"option", "select"}:
        return option_lacks_meaning(element)
    return element.tag in CONTROLS and control_lacks_meaning(element)


def option_lacks_meaning(element):
    """A separator is an item of its own, and a text cannot be in part bold or have another one beside it."""
    return "label" in element or any(child.tag not in {"option", "optgroup"} for child in element.elements)


def control_lacks_meaning(element):
    attributes = element.attributes
    if "form" in attributes or "autocomplete" in attributes:
        return True
    if re.fullmatch(r"0|[1-9]\d*", attributes.get("name", "")):
        return True  # JavaScript lists keys that are integers first
    known = {
        "text", "search", "tel", "url", "email", "password", "number", "range", "checkbox", "radio", "date", "month",
        "week", "time", "datetime-local", "color", "hidden", *NOT_FIELDS,
    }  # fmt: skip
    if element.tag == "input" and element.type not in known:
        return True
    if element.type == "number" and any(
        abs(bound) > 10**15 or (bound and abs(bound) < 10**-6)
        for name in ("min", "max", "step", "value")
        if (bound := number(attributes.get(name, ""))) is not None
    ):
        return True
    # Browsers compile patterns with the v flag, where these are errors.
    return bool(re.search(r"&&|\[[^\]]*[(){}/|-](?=\])|\[\\w-", attributes.get("pattern", "")))


class Builder:
    """One page: all its widgets, and what belongs together by name or by label."""

    def __init__(self, root):
        self.root = root
        self.page = QWidget()
        self.widgets = {}
        self.groups = {}
        self.waiting = {}
        elements = list(root.walk())
        self.by_id = {}
        for element in elements:
            if element.get("id"):
                self.by_id.setdefault(element.get("id"), element)
        self.names = [element.get("name").strip() for element in elements if element.tag in CONTROLS]
        self.labels = {}
        for label in elements:
            if label.tag == "label":
                control = self.control_of(label)
                if control is not None:
                    self.labels.setdefault(control, []).append(label)

    def build(self):
        self.fill(self.root, self.page)
        forms = [element for element in self.root.walk() if element.tag == "form"]
        # The browser lists tools by name, and the first form of a name is the tool.
        tools = [form for form in forms if "tooldescription" in form and TOOL_NAME.fullmatch(form.get("toolname", ""))]
        first = min(tools, key=lambda form: form.get("toolname")) if tools else forms[0]
        widget = self.widgets[first]
        widget.page = self.page  # keeps the rest of the page alive
        return widget

    def control_of(self, label):
        if "for" in label:
            element = self.by_id.get(label.get("for"))
            return element if element is not None and element.is_labelable else None
        return next((element for element in label.walk() if element.is_labelable), None)

    def fill(self, element, parent):
        layout = parent.layout() or QVBoxLayout(parent)
        for child in element.elements:
            for widget in self.make(child, parent):
                layout.addWidget(widget)

    def make(self, element, parent):
        """The widgets of one element, in tree order."""
        if element.tag == "form":
            yield self.make_form(element, parent)
        elif element.tag == "fieldset":
            yield self.make_box(element, parent)
        elif element.tag in CONTROLS:
            if self.is_needed(element):
                yield self.make_control(element, parent)
        elif element.tag == "label":
            yield from self.make_label(element, parent)
        elif element.tag == "button":
            yield QPushButton(element.text().strip(), parent)
        elif element.tag == "progress":
            yield QProgressBar(parent)
        elif element.tag == "meter":
            yield QLCDNumber(parent)
        elif element.tag not in {"legend", "datalist", "script"} and element.elements:
            inner = QWidget(parent)
            self.fill(element, inner)
            yield inner

    def make_form(self, element, parent):
        form = QWidget(parent)
        for attribute, name in (
            ("toolname", "toolName"), ("tooltitle", "toolTitle"), ("tooldescription", "toolDescription"),
        ):  # fmt: skip
            if attribute in element:
                form.setProperty(name, element.get(attribute))
        if "toolautosubmit" in element:
            form.setProperty("toolAutoSubmit", True)
        self.widgets[element] = form
        self.fill(element, form)
        if "hidden" in element:
            form.hide()
        form.setEnabled("inert" not in element)
        return form

    def make_box(self, element, parent):
        box = QGroupBox(parent)
        describe(box, element)
        layout = QVBoxLayout(box)
        body = box
        legend = next((child for child in element.elements if child.tag == "legend"), None)
        if legend is not None:
            box.setTitle(legend.text().strip().replace("&", "&&"))
            if legend.elements:
                head = QWidget(box)
                self.fill(legend, head)
                layout.addWidget(head)
        if "disabled" in element and legend is not None and legend.elements:
            # What stands in the legend stays enabled.
            body = QWidget(box)
            layout.addWidget(body)
        self.fill(element, body)
        body.setEnabled("disabled" not in element)
        return box

    def make_label(self, element, parent):
        control = self.control_of(element)
        text = element.text(skip={"select", "textarea", "button", "datalist"}).replace("&", "&&")
        carries = control is not None and control.type in {"checkbox", "radio"} and self.labels[control] == [element]
        label = None
        if not carries:
            label = QLabel(text, parent)
            yield label
        for child in element.elements:
            yield from self.make(child, parent)
        if control is not None:
            self.pending(control, element, label, text)

    def pending(self, control, element, label, text):
        """Tie a label to its control now, or when that is made."""
        widget = self.widgets.get(control)
        if widget is None:
            self.waiting.setdefault(control, []).append((label, text))
        else:
            tie(label, text, widget)

    def make_control(self, element, parent):
        widget = make_input(element, parent)
        describe(widget, element)
        widget.setObjectName(element.get("id"))
        widget.setProperty("toolParamName", element.get("name"))
        widget.setAccessibleName(element.get("aria-label"))
        widget.setToolTip(element.get("title"))
        if "required" in element:
            widget.setProperty("toolRequired", True)
        if "hidden" in element or "display:none" in element.get("style").replace(" ", ""):
            widget.hide()
        widget.setEnabled("disabled" not in element)
        if isinstance(widget, QCheckBox | QRadioButton):
            key = (element.type, element.get("name"))
            if key not in self.groups:
                self.groups[key] = QButtonGroup(self.page)
                self.groups[key].setExclusive(isinstance(widget, QRadioButton))
            self.groups[key].addButton(widget)
        if isinstance(widget, QLineEdit) and "list" in element:
            add_completer(widget, element, self.root)
        self.widgets[element] = widget
        for label, text in self.waiting.pop(element, ()):
            tie(label, text, widget)
        return widget

    def is_needed(self, element):
        """A hidden value that is described is a field that nobody sees; any other only spoils its name for the rest."""
        if element.type != "hidden" or element.tag != "input":
            return True
        return bool(element.get("toolparamdescription")) or self.names.count(element.get("name").strip()) > 1


def describe(widget, element):
    for attribute, name in TEXTS.items():
        if attribute in element:
            widget.setProperty(name, element.get(attribute))
    widget.setAccessibleDescription(element.get("aria-description"))


def tie(label, text, widget):
    if label is None:
        widget.setText(text)
    else:
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setBuddy(widget)
