"""The catalogue: who is in it, who is not, and what a handle can do."""

import pytest

from agentic_qt import DeclarationError, Registry, Target
from agentic_qt.core.registration import ChangeKind
from tests.support.declare import TEXT, call, declare, text_capability

pytestmark = pytest.mark.anyio


def test_a_registration_is_in_the_catalogue_until_it_is_disposed(registry: Registry) -> None:
    registration = registry.register(declare())
    assert registry.registrations == (registration,)
    assert registry.find("note.add") is registration
    registration.dispose()
    assert registry.registrations == ()
    assert registry.find("note.add") is None


def test_the_same_name_and_target_twice_is_an_error_that_quotes_both_sides(registry: Registry) -> None:
    def first_handler() -> None: ...

    def second_handler() -> None: ...

    registry.register(declare(handler=first_handler, description="First of all."))
    with pytest.raises(DeclarationError) as caught:
        registry.register(declare(handler=second_handler, description="Second of all."))
    message = str(caught.value)
    assert "first_handler" in message
    assert "second_handler" in message
    assert "First of all." in message
    assert "Second of all." in message


def test_two_targets_may_share_a_name_but_not_with_one_that_has_no_target(registry: Registry) -> None:
    registry.register(declare(target=Target(id="a")))
    registry.register(declare(target=Target(id="b")))
    with pytest.raises(DeclarationError, match="target of its own"):
        registry.register(declare())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "name"),
        ({"name": "has space"}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"name": 7}, "name"),
        ({"description": None}, "description"),
        ({"risk": "harmless"}, "risk"),
        ({"risk": None}, "risk"),
        ({"handler": None}, "handler"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"available": True}, "available"),
        ({"target": "a"}, "target"),
        ({"target": Target(id="")}, "target"),
        ({"input_schema": {"type": "string"}}, "object"),
        ({"input_schema": {"type": "object", "oneOf": [{}]}}, "oneOf"),
        ({"input_schema": None}, "input_schema"),
        ({"input_schema": {"type": "object", "properties": {"a": {"$ref": "http://localhost/x"}}}}, "ref"),
        ({"input_schema": {"type": "object", "properties": {"_target": {"type": "string"}}}}, "_target"),
        ({"input_schema": TEXT, "handler": lambda other: None}, "text"),
        ({"handler": lambda needed: None}, "needed"),
        ({"input_schema": {"type": "object", "properties": {"ctx": {}}}, "handler": lambda ctx: None}, "ctx"),
        ({"output_schema": {"type": "nonsense"}}, "output_schema"),
    ],
)
def test_a_malformed_declaration_is_refused_with_the_reason(registry: Registry, fields: dict, words: str) -> None:
    """FC-63 among them: the root of an input schema is a plain object."""
    with pytest.raises(DeclarationError, match=words):
        registry.register(declare(**{"name": "note.add", **fields}))
    assert registry.registrations == ()
    assert registry.revision == 0


@pytest.mark.parametrize("name", ["constructor", "__class__", "__init__", "toString", "register", "items"])
async def test_names_of_python_and_of_objects_are_ordinary_names(registry: Registry, name: str) -> None:
    """FC-33."""
    assert (await registry.execute(call(name))).code == "no_such_capability"
    registry.register(declare(name, risk="destructive"))
    outcome = await registry.execute(call(name))
    assert (outcome.status, outcome.code) == ("denied", "no_approver")


def test_every_change_raises_the_revision_and_is_told(registry: Registry) -> None:
    changes: list = []
    stop = registry.observe(changes.append)
    registration = registry.register(declare())
    registration.suspend()
    registration.suspend()
    registration.resume()
    registration.resume()
    successor = registration.replace(description="Other words.")
    successor.dispose()
    successor.dispose()
    assert [change.kind for change in changes] == [
        ChangeKind.MOUNTED,
        ChangeKind.SUSPENDED,
        ChangeKind.RESUMED,
        ChangeKind.REPLACED,
        ChangeKind.DISPOSED,
    ]
    assert [change.revision for change in changes] == [1, 2, 3, 4, 5] == list(range(1, registry.revision + 1))
    stop()
    registry.register(declare())
    assert len(changes) == 5


def test_an_observer_that_fails_harms_neither_the_registry_nor_the_next_observer(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list = []
    registry.observe(lambda change: 1 / 0)
    registry.observe(seen.append)
    registry.register(declare())
    assert len(seen) == 1
    assert "ZeroDivisionError" in caplog.text


def test_disposing_a_replaced_registration_does_not_remove_its_successor(registry: Registry) -> None:
    first = registry.register(declare())
    second = first.replace(handler=lambda: "new")
    first.dispose()
    first.suspend()
    assert registry.find("note.add") is second
    assert not second.suspended
    with pytest.raises(DeclarationError, match="disposed"):
        first.replace(description="late")


def test_a_replacement_keeps_its_place_and_its_suspension(registry: Registry) -> None:
    a = registry.register(declare("a.x"))
    registry.register(declare("b.x"))
    a.suspend("hidden")
    successor = a.replace(description="Other words.")
    assert [found.name for found in registry.registrations] == ["a.x", "b.x"]
    assert (successor.suspended, successor.reason) == (True, "hidden")


def test_a_replacement_may_take_a_free_place_but_not_a_taken_one(registry: Registry) -> None:
    a = registry.register(declare("a.x"))
    registry.register(declare("b.x"))
    with pytest.raises(DeclarationError, match=r"b\.x"):
        a.replace(name="b.x")
    assert not a.disposed
    moved = a.replace(name="c.x")
    assert registry.find("a.x") is None
    assert registry.find("c.x") is moved


def test_suspended_registrations_are_absent_from_what_a_model_is_shown_and_come_back_to_their_place(
    registry: Registry,
) -> None:
    names = ["a.x", "b.x", "c.x"]
    registrations = [registry.register(declare(name)) for name in names]
    registrations[1].suspend()
    assert [found.name for found in registry.visible] == ["a.x", "c.x"]
    registrations[1].resume()
    assert [found.name for found in registry.visible] == names


def test_a_schema_that_is_changed_behind_the_registry_changes_nothing(registry: Registry) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    registration = registry.register(text_capability(lambda text="": text))
    schema["properties"]["text"]["type"] = "integer"
    assert registration.input_schema["properties"]["text"] == {"type": "string"}


async def test_only_description_and_labels_can_change_without_making_a_planned_call_stale(registry: Registry) -> None:
    """G08."""
    registration = registry.register(declare(handler=lambda: 1))
    planned = registry.revision
    registration = registration.replace(description="Other words.", title="Other title")
    assert (await registry.execute(call(revision=planned))).status == "ok"
    for changes in ({"handler": lambda: 2}, {"risk": "mutating"}, {"input_schema": TEXT, "handler": lambda text: 3}):
        planned = registry.revision
        registration = registration.replace(**changes)
        assert (await registry.execute(call(revision=planned))).status == "stale"
        assert (await registry.execute(call(revision=registry.revision))).status != "stale"
