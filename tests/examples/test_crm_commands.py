"""The commands of the customer application: the service on its file, old files, and the window's read side."""

import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from agentic_qt.commands.values import Actor, Command, CommandStatus
from examples.crm import commands, rows
from examples.crm.backend import BackendError, open_backend
from examples.crm.commands import PERMISSIONS, merge_version, service
from examples.crm.database_diff import changes, in_words, tables
from examples.crm.sample_data import sample_customers
from examples.crm.store import Store, UnreadableError, check_file, url_of

pytestmark = pytest.mark.anyio
ADA, GRACE, ALAN = 1, 2, 3
ANN = Actor(name="ann", permissions=PERMISSIONS)


@pytest.fixture
def submit(backend):
    async def submit(type_, given, version=None, actor=ANN):
        command = Command.of(type_, given, command_id=backend.service.new_id(), expected_version=version)
        return await backend.service.submit(command, actor)

    return submit


def test_each_type_of_command_has_a_permission_of_its_own_name(tmp_path):
    made = service(url_of(tmp_path / "x.db"))
    assert {name: kind.permission for name, kind in made.types.items()} == {name: name for name in PERMISSIONS}


async def test_who_may_not_changes_nothing(backend, store, submit):
    before = tables(store)
    result = await submit("customer.delete", {"id": ALAN}, 1, Actor(name="bob", permissions=frozenset()))
    assert (result.status, result.code) == (CommandStatus.REFUSED, "denied")
    assert tables(store) == before


async def test_rule_of_the_application_is_the_code_and_the_words_of_the_result(store, submit):
    before = tables(store)
    result = await submit("customer.delete", {"id": GRACE}, 1)
    assert (result.status, result.code) == (CommandStatus.FAILED, "open_orders")
    assert "1005, 1004" in result.hint
    assert tables(store) == before


async def test_change_on_an_old_version_is_a_conflict_and_changes_nothing(store, submit):
    """FC-22"""
    assert (await submit("customer.update", {"id": ADA, "changes": {"city": "Paris"}}, 1)).version == 2
    before = tables(store)
    result = await submit("customer.update", {"id": ADA, "changes": {"city": "Rome"}}, 1)
    assert (result.status, result.code) == (CommandStatus.FAILED, "version_conflict")
    assert tables(store) == before


async def test_order_that_was_changed_meanwhile_is_a_conflict(store, submit, elsewhere):
    elsewhere.set_order_status(1001, "shipped")
    result = await submit("order.set_status", {"id": 1001, "status": "paid"}, 1)
    assert result.code == "version_conflict"
    assert store.order(1001).status == "shipped"


@pytest.mark.parametrize("changed", [5, 6])
async def test_merge_is_a_conflict_when_either_customer_was_changed(store, submit, elsewhere, changed):
    elsewhere.update_customer(changed, {"phone": "+84 1"})
    result = await submit("customer.merge", {"id": 5, "into": 6}, merge_version(1, 1))
    assert result.code == "version_conflict"
    assert len(store.customers()) == 240


async def test_merge_tells_what_it_did(backend, store, submit):
    preview = await backend.service.preview("customer.merge", {"id": 5, "into": 6}, ANN)
    assert preview.facts["into"] == "Nguyễn Văn An (6)"
    assert preview.facts["customer that is deleted"].startswith("Nguyễn Văn An (5)")
    moving = [name for name in preview.facts if name.startswith("order ")]
    result = await submit("customer.merge", {"id": 5, "into": 6}, preview.version)
    assert result.data["orders_moved"] == len(moving) > 0
    assert (result.data["deleted"]["id"], result.data["into"]["id"]) == ("5", "6")
    assert len(store.customers()) == 239


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        ("customer.update", {"id": 1, "changes": {}}),
        ("customer.update", {"id": 1, "changes": {"version": "7"}}),
        ("customer.delete", {"id": 0}),
        ("customer.create", {"name": "Barbara"}),
        ("order.set_status", {"id": 1001, "status": "lost"}),
        ("order.add", {"customer": 1, "item": "x", "amount_cents": -1, "ordered_on": "2026-01-01"}),
    ],
)
async def test_input_that_breaks_the_schema_is_refused(store, submit, type_, given):
    before = tables(store)
    result = await submit(type_, given, 1)
    assert (result.status, result.code) == (CommandStatus.REFUSED, "invalid")
    assert tables(store) == before


async def test_first_start_makes_the_file_and_the_second_keeps_what_was_changed(tmp_path):
    path = tmp_path / "new folder, 100 % ?" / "customers.db"
    first = await open_backend(path)
    update = Command.of(
        "customer.update", {"id": ADA, "changes": {"city": "Paris"}}, command_id="one", expected_version=1
    )
    await first.service.submit(update, ANN)
    await first.close()
    second = await open_backend(path)
    assert second.store.customer(ADA).city == "Paris"
    assert len(second.store.customers()) == len(sample_customers())
    await second.close()


async def test_file_that_was_emptied_by_a_person_is_not_filled_again(path, elsewhere):
    with elsewhere.engine.begin() as connection:
        for table in ("orders", "customers"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    again = await open_backend(path)
    assert again.store.customers() == []
    await again.close()


async def test_file_of_the_version_before_commands_is_taken_over_and_copied_first(tmp_path):
    path = tmp_path / "customers.db"
    old = sqlite3.connect(path)
    old.executescript(
        """
        CREATE TABLE customers (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL,
            phone TEXT NOT NULL DEFAULT '', company TEXT NOT NULL DEFAULT '', city TEXT NOT NULL DEFAULT '',
            country TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'lead', notes TEXT NOT NULL DEFAULT '',
            version INTEGER NOT NULL DEFAULT 1);
        CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT,
            customer_id INTEGER NOT NULL REFERENCES customers (id), item TEXT NOT NULL,
            amount_cents INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'open',
            ordered_on TEXT NOT NULL);
        INSERT INTO customers (name, email, version) VALUES ('Ada', 'ada@example.com', 4);
        INSERT INTO orders (customer_id, item, amount_cents, ordered_on) VALUES (1, 'Engine', 5, '2026-01-01');
        PRAGMA user_version = 1;
        """
    )
    old.close()
    taken = await open_backend(path)
    assert [(known.name, known.version) for known in taken.store.customers()] == [("Ada", 4)]
    assert [(order.item, order.version) for order in taken.store.orders()] == [("Engine", 1)]
    paid = Command.of("order.set_status", {"id": 1, "status": "paid"}, command_id="one", expected_version=1)
    assert (await taken.service.submit(paid, ANN)).ok
    await taken.close()
    (copy,) = tmp_path.glob("customers.db.before-*")
    kept = sqlite3.connect(copy)
    assert kept.execute("SELECT status FROM orders").fetchall() == [("open",)]
    kept.close()


async def test_read_side_cannot_write(store):
    with pytest.raises(OperationalError, match="readonly"):
        rows.delete_customer(store._connection, ALAN)
    assert store.customer(ALAN)


async def test_store_sees_that_another_connection_wrote(store, elsewhere):
    seen = store.changes_of_others
    assert store.changes_of_others == seen
    elsewhere.update_customer(ADA, {"city": "Paris"})
    assert store.changes_of_others != seen
    assert store.customer(ADA).city == "Paris"


def test_file_that_is_no_database_or_has_no_customers_is_told(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("not a database, but long enough to be read as one. " * 9)
    with pytest.raises(UnreadableError):
        check_file(notes)
    with pytest.raises(UnreadableError, match="no such table"):
        Store(tmp_path / "empty.db")


async def test_backend_says_which_file_it_could_not_open(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("not a database, but long enough to be read as one. " * 9)
    with pytest.raises(BackendError, match=r"notes\.txt cannot be opened"):
        await open_backend(notes)


async def test_difference_names_rows_fields_and_both_values(store, elsewhere):
    before = tables(store)
    elsewhere.update_customer(ADA, {"email": "ada@example.com"})
    (change,) = changes(before, tables(store))
    assert (change["table"], change["id"], change["change"]) == ("customers", ADA, "changed")
    assert change["fields"]["email"] == {"old": "ada.lovelace@example.org", "new": "ada@example.com"}
    assert any("ada.lovelace@example.org" in line for line in in_words(change))
    assert changes(before, before) == []


def test_file_is_the_one_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTIC_QT_CRM_DB", str(tmp_path / "here.db"))
    assert commands.database_file() == tmp_path / "here.db"
    assert str(tmp_path / "here.db") in service().store.engine.url.render_as_string()
