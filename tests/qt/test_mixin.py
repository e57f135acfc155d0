"""Declaring in a class: with and without the mixin, names, schemas, slots, overrides and errors."""

import asyncio
import enum
import threading
from typing import Literal

import pytest
from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QDialog, QLabel, QMainWindow, QWidget

from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.call import Call, Status
from agentic_qt.core.errors import DeclarationError
from agentic_qt.core.registry import Registry
from agentic_qt.qt.binder import Binder
from agentic_qt.qt.declaration import default_name, snake
from agentic_qt.qt.mixin import AgentMixin, capability
from agentic_qt.qt.scope import find_scope, provide


class Priority(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Todo(QMainWindow):
    """The five-minute example: no mixin."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[tuple[str, str]] = []
        self.locked = False

    @capability(risk="mutating", available="can_add", preview="preview_add", examples=[("add milk", {"text": "milk"})])
    def add_todo(self, text: str, priority: Literal["low", "high"] = "low") -> dict:
        """Add an item to the current list.

        Args:
            text: What to do.
        """
        self.items.append((text, priority))
        return {"count": len(self.items)}

    def can_add(self) -> bool | str:
        return "the list is locked" if self.locked else True

    def preview_add(self, text: str, priority: str = "low") -> dict:
        return {"before": len(self.items), "text": text}

    @capability(risk="read")
    def count_by(self, priority: Priority) -> int:
        """Count the items of a priority."""
        assert isinstance(priority, Priority)
        return sum(1 for item in self.items if item[1] == priority.value)


def approve_all(registry: Registry, seen: list | None = None) -> None:
    def view(event):
        if event.change is ApprovalChange.ADDED:
            if seen is not None:
                seen.append(event.request)
            registry.approvals.approve(event.request)

    registry.approvals.attach(view)


@pytest.mark.anyio
async def test_a_decorated_window_works_without_the_mixin(registry):
    window = Todo()
    provide(window, registry)
    window.show()
    assert [found.name for found in registry.visible] == ["todo.add_todo", "todo.count_by"]
    add = registry.find("todo.add_todo", "todo").capability
    assert add.description == "Add an item to the current list."
    assert add.input_schema["properties"]["text"] == {"type": "string", "description": "What to do."}
    assert add.input_schema["required"] == ["text"]
    assert add.examples == [("add milk", {"text": "milk"})]
    requests: list = []
    approve_all(registry, requests)
    outcome = await registry.execute(Call(name="todo.add_todo", input={"text": "milk", "priority": "high"}))
    assert outcome.data == {"count": 1}
    assert requests[0].facts == {"before": 0, "text": "milk"}
    assert window.items == [("milk", "high")]
    counted = await registry.execute(Call(name="todo.count_by", input={"priority": "high"}))
    assert counted.data == 1


@pytest.mark.anyio
async def test_what_the_class_says_of_availability_comes_with_its_reason(registry):
    window = Todo()
    provide(window, registry)
    window.show()
    window.locked = True
    outcome = await registry.execute(Call(name="todo.add_todo", input={"text": "milk"}))
    assert outcome.status is Status.UNAVAILABLE
    assert "the list is locked" in outcome.hint


def test_widgets_that_are_made_after_the_registry_came_are_found(registry):
    class Panel(QWidget):
        @capability(risk="read")
        def refresh(self) -> None:
            """Read the data again."""

    window = QMainWindow()
    provide(window, registry)
    window.show()
    assert registry.visible == ()
    deep = QWidget()
    Panel(deep)
    window.setCentralWidget(deep)
    deep.show()
    assert [found.name for found in registry.visible] == ["panel.refresh"]
    dialog = QDialog(window)
    Panel(dialog).setObjectName("second")
    dialog.show()
    assert [found.target_id for found in registry.visible] == ["panel", "second"]


class Mixed(AgentMixin, QLabel):
    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)

    @capability(risk="read")
    def show_text(self) -> str:
        """Return the text."""
        return self.text()


class WidgetFirst(QLabel, AgentMixin):
    @capability(risk="read")
    def show_text(self) -> str:
        """Return the text."""
        return self.text()


class Skips(AgentMixin, QLabel):
    def __init__(self, text: str) -> None:
        QLabel.__init__(self, text)

    @capability(risk="read")
    def show_text(self) -> str:
        """Return the text."""
        return self.text()


class Inherits(Mixed):
    """Declares nothing of its own."""


@pytest.mark.parametrize("owner_class", [Mixed, WidgetFirst, Skips, Inherits])
def test_the_mixin_works_first_last_skipped_and_inherited(registry, owner_class):
    owner = owner_class("hello")
    assert owner.text() == "hello"
    provide(owner, registry)
    assert owner.agent_registrations == ()
    owner.show()
    (registration,) = registry.registrations
    assert owner.agent_registrations == (registration,)
    assert registration.name == ("mixed.show_text" if owner_class is Inherits else registration.name)
    assert len(owner.findChildren(Binder)) == 1


def test_the_mixin_is_no_qobject_and_takes_properties_as_keywords(qapp):
    assert not issubclass(AgentMixin, QObject)

    class Named(AgentMixin, QWidget):
        @capability(risk="read")
        def look(self) -> None:
            """Look."""

    assert Named(objectName="given", windowTitle="Title").objectName() == "given"


def test_a_decorated_method_is_still_a_slot_in_either_order(qapp):
    class Both(QWidget):
        @Slot(str)
        @capability(risk="read")
        def outer(self, text: str) -> None:
            """Take a text."""

        @capability(risk="read")
        @Slot(str)
        def inner(self, text: str) -> None:
            """Take a text."""

    meta = Both.staticMetaObject
    slots = [meta.method(index).methodSignature().data() for index in range(meta.methodOffset(), meta.methodCount())]
    assert sorted(slots) == [b"inner(QString)", b"outer(QString)"]
    widget = Both()
    (binder,) = widget.findChildren(Binder)
    assert [binding.capability.name for binding in binder.bindings] == ["both.outer", "both.inner"]


@pytest.mark.anyio
async def test_an_override_is_what_runs_and_none_takes_a_capability_away(registry):
    class Loud(Mixed):
        def show_text(self) -> str:
            return super().show_text().upper()

    class Silent(Mixed):
        show_text = None

    loud = Loud("hello")
    provide(loud, registry)
    loud.show()
    outcome = await registry.execute(Call(name="mixed.show_text"))
    assert outcome.data == "HELLO"
    assert Silent("hello").findChildren(Binder) == []


@pytest.mark.anyio
async def test_functions_may_say_whether_it_is_available_and_what_it_would_change(registry):
    class Box(QWidget):
        full = False

        @capability(
            risk="mutating",
            name="box.put",
            title="Put into box",
            available=lambda self: "it is full" if self.full else True,
            preview=lambda self, thing: {"puts": thing, "into": type(self).__name__},
        )
        def put(self, thing: str) -> None:
            """Put a thing into the box."""

    box = Box()
    provide(box, registry)
    box.show()
    requests: list = []
    approve_all(registry, requests)
    assert (await registry.execute(Call(name="box.put", input={"thing": "ball"}))).ok
    assert requests[0].facts == {"puts": "ball", "into": "Box"}
    assert requests[0].title == "Put into box"
    box.full = True
    outcome = await registry.execute(Call(name="box.put", input={"thing": "ball"}))
    assert (outcome.status, "it is full" in outcome.hint) == (Status.UNAVAILABLE, True)


@pytest.mark.anyio
async def test_a_handler_may_be_async_and_may_take_the_context(registry):
    class Slow(QWidget):
        @capability(risk="read")
        async def look_up(self, key: Priority, ctx: object) -> dict:
            """Look a key up."""
            return {"key": key.name, "call": ctx.call_id, "actor": ctx.actor}

    slow = Slow()
    provide(slow, registry)
    slow.show()
    (registration,) = registry.registrations
    assert list(registration.capability.input_schema["properties"]) == ["key"]
    outcome = await registry.execute(Call(name="slow.look_up", input={"key": "low"}, id="c1", actor="ada"))
    assert outcome.data == {"key": "LOW", "call": "c1", "actor": "ada"}


@pytest.mark.anyio
async def test_a_call_from_a_worker_thread_runs_its_handler_in_the_guis(registry):
    """FC-06: the handler touches a widget; it must run in the widget's thread."""
    ran: list[threading.Thread] = []

    class Label(QLabel):
        @capability(risk="read")
        def write(self, text: str) -> str:
            """Show a text."""
            ran.append(threading.current_thread())
            self.setText(text)
            return self.text()

    label = Label()
    provide(label, registry)
    label.show()
    await registry.execute(Call(name="label.write", input={"text": "bind the loop"}))
    future = await asyncio.to_thread(registry.submit, Call(name="label.write", input={"text": "hello"}))
    outcome = await asyncio.wait_for(asyncio.wrap_future(future), 5)
    assert outcome.data == "hello"
    assert ran == [threading.current_thread()] * 2


@pytest.mark.anyio
async def test_a_handler_that_executes_a_dialog_freezes_no_other_task(registry, qtbot):
    """FC-07: through the whole pipeline, declared nested and not."""

    class Asker(QWidget):
        def ask(self) -> int:
            dialog = QDialog(self)
            QTimer.singleShot(60, dialog.accept)
            return int(dialog.exec())

        @capability(risk="read")
        def ask_plainly(self) -> int:
            """Ask in a dialog."""
            return self.ask()

        @capability(risk="read", nested=True)
        def ask_nested(self) -> int:
            """Ask in a dialog, declared."""
            return self.ask()

    asker = Asker()
    provide(asker, registry)
    asker.show()
    for name in ("asker.ask_plainly", "asker.ask_nested"):
        seen: list[int] = []

        async def ticks(seen: list[int] = seen) -> None:
            for number in range(3):
                await asyncio.sleep(0.005)
                seen.append(number)

        task = asyncio.create_task(ticks())
        outcome = await asyncio.wait_for(registry.execute(Call(name=name)), 10)
        assert outcome.data == 1
        assert task.done()
        assert seen == [0, 1, 2]


def test_an_unannotated_parameter_is_refused_with_file_and_line(qapp):
    def make_with_mixin():
        class Bad(AgentMixin, QWidget):
            @capability(risk="read")
            def look(self, where) -> None:
                """Look."""

    class BadToo(QWidget):
        @capability(risk="read")
        def look(self, where) -> None:
            """Look."""

    for make in (make_with_mixin, BadToo):
        with pytest.raises(DeclarationError, match=r"test_mixin\.py:\d+.*'where' has no type hint"):
            make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": "harmless"}, "risk must be one of"),
        ({"risk": "read", "available": "nowhere"}, "is no method of"),
        ({"risk": "read", "timeout": 0}, "timeout"),
        ({"risk": "read", "schema": {"type": "string"}}, "input_schema"),
        ({"risk": "read", "schema": {"type": "object", "properties": {"b": {}}}}, "has no parameter"),
    ],
)
def test_a_malformed_declaration_is_refused_when_the_class_is_made(options, message):
    with pytest.raises(DeclarationError, match=message):

        class Bad(AgentMixin, QWidget):
            @capability(**options)
            def look(self, a: str = "") -> None:
                """Look."""


def test_an_explicit_schema_needs_no_hints_and_the_docstring_still_describes(registry):
    class Hand(QWidget):
        @capability(risk="read", schema={"type": "object", "properties": {"a": {"type": "integer"}}})
        def look(self, a=1):
            """Look
            around.

            More of it.
            """

    hand = Hand()
    provide(hand, registry)
    hand.show()
    (registration,) = registry.registrations
    assert registration.capability.description == "Look around."


def test_a_missing_description_is_linted(registry):
    class Mute(QWidget):
        @capability(risk="read")
        def look(self) -> None:
            pass

    mute = Mute()
    provide(mute, registry)
    mute.show()
    assert "mute.look" in find_scope(mute).lints[0]


def test_a_class_that_was_decorated_after_it_was_made_is_found_by_the_registrys_window(registry):
    class Late(QWidget):
        def look(self) -> None:
            """Look."""

    capability(risk="read")(Late.look)
    late = Late()
    remove = provide(late, registry)
    late.show()
    assert [found.name for found in registry.visible] == ["late.look"]
    remove()
    assert registry.registrations == ()
    assert late.findChildren(Binder) == []


def test_the_target_is_the_object_name_else_the_title_else_the_class(registry):
    window = Mixed("root")
    window.setWindowTitle("Letters[*]")
    named, plain = Mixed("a", window), Mixed("b", window)
    named.setObjectName("inbox")
    provide(window, registry)
    window.show()
    assert {found.target.id: found.target.label for found in registry.visible} == {
        "Letters": "Letters",
        "inbox": "inbox",
        "mixed": "mixed",
    }
    assert plain.isVisible()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Todo", "todo"), ("CustomerTable", "customer_table"), ("HTTPView", "http_view"), ("_Box", "box"), ("x", "x")],
)
def test_class_names_become_snake_case(name, expected):
    assert snake(name) == expected


def test_the_default_name_is_made_of_the_defining_class_and_the_method():
    assert default_name(Todo.add_todo) == "todo.add_todo"
