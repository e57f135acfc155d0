"""Forms bound to a data model, and wizards: nested values, errors by path, and still the review."""

from dataclasses import dataclass, field
from typing import Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field, field_validator
from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QComboBox,
    QDataWidgetMapper,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
    QWizard,
    QWizardPage,
)

from agentic_qt.core.errors import DeclarationError
from agentic_qt.qt.forms.exposing import form_tool
from agentic_qt.qt.forms.wizard import WizardPort
from tests.support.approval_stage import until
from tests.support.form_stage import FormStage, outcome_of

pytestmark = pytest.mark.anyio


@dataclass(kw_only=True)
class Address:
    street: str
    city: str


@dataclass(kw_only=True)
class Customer:
    """A customer.

    Attributes:
        name: Full name.
        address: Where to send letters.
    """

    name: str
    address: Address
    level: Literal["basic", "gold"] = "basic"
    notes: list[str] = field(default_factory=list)


class Person(TypedDict):
    name: str
    level: NotRequired[Literal["basic", "gold"]]


class Place(BaseModel):
    street: str = ""
    city: str


class Client(BaseModel):
    name: str = Field(min_length=2)
    address: Place

    @field_validator("name")
    @classmethod
    def has_a_capital(cls, name: str) -> str:
        if name == name.lower():
            raise ValueError("begins with a capital")
        return name


def customer_form():
    form = QWidget()
    form.setObjectName("customer")
    rows = QFormLayout(form)
    for name in ("name", "address_street", "addressCity"):
        edit = QLineEdit()
        edit.setObjectName(name)
        rows.addRow(name, edit)
    form.findChild(QLineEdit, "addressCity").setMaxLength(10)
    level = QComboBox()
    level.setObjectName("level")
    level.addItems(["basic", "gold"])
    rows.addRow("Level", level)
    save = QPushButton("Save")
    save.setObjectName("book")
    rows.addRow(save)
    return form


def text(form, name):
    return form.findChild(QLineEdit, name).text()


async def test_a_dataclass_gives_the_schema_and_nested_values_reach_their_fields():
    form = customer_form()
    stage = FormStage(form)
    tool = form_tool(form, name="customer.save", description="Save.", model=Customer, gestures=stage.gestures)
    schema = tool.port.schema()
    assert list(schema["properties"]) == ["name", "address", "level"]
    assert schema["properties"]["address"]["required"] == ["street", "city"]
    await stage.open()
    given = {"name": "Ada", "address": {"street": "Main 1", "city": "Hue"}, "level": "gold"}
    task = stage.call(given, name="customer.save")
    await wait_for_review(tool)
    assert (text(form, "address_street"), text(form, "addressCity")) == ("Main 1", "Hue")
    pass_time(stage, tool)
    stage.press_submit()
    assert (await outcome_of(task)).data["submitted"] == given


def pass_time(stage, tool):
    for _ in range(15):
        stage.clock.now += 0.1
        tool.review.watch.beat()


async def wait_for_review(tool):
    await until(lambda: tool.review is not None and tool.review.is_shown)


async def test_an_edit_of_a_nested_field_is_a_nested_input():
    form = customer_form()
    stage = FormStage(form)
    tool = form_tool(form, name="customer.save", description="Save.", model=Customer, gestures=stage.gestures)
    await stage.open()
    task = stage.call({"name": "Ada", "address": {"street": "Main 1", "city": "Hue"}}, name="customer.save")
    await wait_for_review(tool)
    form.findChild(QLineEdit, "addressCity").setText("Vinh")
    pass_time(stage, tool)
    stage.press_submit()
    outcome = await outcome_of(task)
    assert outcome.data["submitted"]["address"] == {"street": "Main 1", "city": "Vinh"}


async def test_a_field_is_called_for_people_what_stands_beside_it(qapp):
    form = customer_form()
    FormStage(form)
    port = form_tool(form, name="customer.save", description="Save.", model=Customer).port
    label = {field.key: field.label for field in port.walk().fields}
    assert port.label("/address/city") == label["addressCity"]
    assert port.label("/address/city/0") == label["addressCity"]
    assert [port.label(pointer) for pointer in ("", "/address", "/address/cit", "/nothing")] == [""] * 4
    assert WizardPort(make_wizard(None)).label("/who/buyer") == "buyer"


async def test_what_a_widget_refuses_is_told_by_the_path_of_the_type():
    form = customer_form()
    stage = FormStage(form)
    form_tool(form, name="customer.save", description="Save.", model=Customer, risk="read", auto_submit=True)
    await stage.open()
    given = {"name": "Ada", "address": {"street": "Main 1", "city": "Ho Chi Minh City"}}
    outcome = await outcome_of(stage.call(given, name="customer.save"))
    assert "/address/city" in outcome.hint
    assert text(form, "name") == ""


async def test_the_schema_of_the_type_is_the_first_gate():
    form = customer_form()
    stage = FormStage(form)
    form_tool(form, name="customer.save", description="Save.", model=Customer, risk="read", auto_submit=True)
    await stage.open()
    outcome = await outcome_of(stage.call({"name": "Ada", "address": {"street": "x"}}, name="customer.save"))
    assert outcome.status == "invalid"
    assert [issue["path"] for issue in outcome.data["issues"]] == ["/address/city"]


async def test_a_typed_dict_and_a_pydantic_model_will_do():
    form = customer_form()
    FormStage(form)
    tool = form_tool(form, name="person.save", description="Save.", model=Person)
    assert tool.port.schema()["required"] == ["name"]
    tool.dispose()
    other = customer_form()
    FormStage(other)
    tool = form_tool(other, name="customer.save", description="Save.", model=Client)
    assert tool.port.schema()["properties"]["address"]["properties"]["city"]["type"] == "string"
    assert tool.port.check({"name": "A", "address": {"city": "Hue"}})[0].pointer == "/name"
    (issue,) = tool.port.check({"name": "ada", "address": {"city": "Hue"}})
    assert (issue.pointer, "begins with a capital" in issue.message) == ("/name", True)
    assert tool.port.typed({"name": "Ada", "address": {"city": "Hue"}}) == Client(name="Ada", address=Place(city="Hue"))


async def test_the_handler_gets_an_object_of_the_type():
    form = customer_form()
    stage = FormStage(form)
    told = []
    form_tool(
        form,
        name="customer.save",
        description="Save.",
        model=Customer,
        risk="read",
        auto_submit=True,
        on_submit=lambda submission: told.append(submission.typed),
    )
    await stage.open()
    given = {"name": "Ada", "address": {"street": "Main 1", "city": "Hue"}}
    assert (await outcome_of(stage.call(given, name="customer.save"))).ok
    assert told == [Customer(name="Ada", address=Address(street="Main 1", city="Hue"))]


async def test_a_field_that_the_form_lacks_is_told_when_it_is_declared(qapp):
    form = QWidget()
    with pytest.raises(DeclarationError, match=r"has no field for .name."):
        form_tool(form, name="customer.save", description="Save.", model=Customer)


async def test_a_mapper_writes_the_item_model_when_the_form_is_submitted():
    form = customer_form()
    stage = FormStage(form)
    table = QStandardItemModel(1, 2)
    table.setItem(0, 0, QStandardItem("Grace"))
    mapper = QDataWidgetMapper(form)
    mapper.setSubmitPolicy(QDataWidgetMapper.SubmitPolicy.ManualSubmit)
    mapper.setModel(table)
    mapper.addMapping(form.findChild(QLineEdit, "name"), 0)
    mapper.toFirst()
    tool = form_tool(form, name="row.save", description="Save.", model=mapper, risk="read", auto_submit=True)
    assert list(tool.port.schema()["properties"]) == ["name"]
    await stage.open()
    assert (await outcome_of(stage.call({"name": "Ada"}, name="row.save"))).ok
    assert table.item(0, 0).text() == "Ada"


def make_wizard(parent):
    wizard = QWizard(parent)
    wizard.setObjectName("order")
    wizard.setProperty("toolName", "order.make")
    wizard.setProperty("toolDescription", "Make an order.")
    for key, kind, name in (("who", QLineEdit, "buyer"), ("what", QSpinBox, "amount")):
        page = QWizardPage()
        page.setObjectName(key)
        page.setTitle(key.title())
        rows = QFormLayout(page)
        widget = kind()
        widget.setObjectName(name)
        rows.addRow(name, widget)
        if kind is QLineEdit:
            page.registerField("buyer*", widget)
        wizard.addPage(page)
    return wizard


async def test_a_wizard_is_one_tool_whose_pages_are_groups():
    stage = FormStage()
    wizard = make_wizard(stage.window)
    await stage.open()
    wizard.show()
    await find(stage, "order.make")
    schema = stage.exposed.find("order.make").registration.input_schema
    assert {key: list(page["properties"]) for key, page in schema["properties"].items()} == {
        "who": ["buyer"],
        "what": ["amount"],
    }
    values = {"who": {"buyer": "Ada"}, "what": {"amount": 7}}
    tool = stage.exposed.find("order.make")
    task = stage.call(values, name="order.make")
    await wait_for_review(tool)
    assert wizard.currentPage().objectName() == "what"
    pass_time(stage, tool)
    QTest.mouseClick(wizard.button(QWizard.WizardButton.FinishButton), Qt.MouseButton.LeftButton)
    outcome = await outcome_of(task)
    assert outcome.data == {"submitted": values, "result": "accepted"}


async def find(stage, name):
    def listed():
        tool = stage.exposed.find(name)
        return tool is not None and tool.registration is not None

    await until(listed)


async def test_a_page_that_is_not_complete_takes_everything_back():
    stage = FormStage()
    wizard = make_wizard(stage.window)
    wizard.setProperty("toolReadOnly", True)
    wizard.setProperty("toolAutoSubmit", True)
    await stage.open()
    wizard.show()
    await find(stage, "order.make")
    outcome = await outcome_of(stage.call({"what": {"amount": 7}}, name="order.make"))
    assert (outcome.code, "Who" in outcome.hint) == ("page_refused", True)
    assert wizard.findChild(QSpinBox, "amount").value() == 0
    assert wizard.currentPage().objectName() == "who"
