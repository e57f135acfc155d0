"""The rules of the customer application, without a window."""

import sqlite3

import pytest

from examples.crm.database_diff import changes, in_words, tables
from examples.crm.domain import Order, RuleError, Store, amount_text, fold
from examples.crm.sample_data import open_store, sample_customers, sample_orders

ADA, GRACE, ALAN = 1, 2, 3


def test_samples_are_always_the_same_and_reach_nobody():
    customers = sample_customers()
    assert customers == sample_customers()
    assert sample_orders() == sample_orders()
    assert len(customers) >= 200
    assert all(customer.email.endswith(("@example.com", "@example.org")) for customer in customers)
    assert len({customer.email for customer in customers}) == len(customers)


def test_first_start_makes_the_file_and_the_second_keeps_what_was_changed(tmp_path):
    path = tmp_path / "new folder" / "customers.db"
    first = open_store(path)
    first.update_customer(ADA, {"city": "Paris"}, version=1)
    first.close()
    second = open_store(path)
    assert second.customer(ADA).city == "Paris"
    assert len(second.customers()) == len(sample_customers())
    second.close()


def test_file_that_was_emptied_by_a_person_is_not_filled_again(tmp_path):
    path = tmp_path / "customers.db"
    store = Store(path)
    assert store.fill(sample_customers()[:1], [])
    assert not store.fill(sample_customers(), sample_orders())
    store.delete_customer(ADA, version=1)
    store.close()
    again = open_store(path)
    assert again.customers() == []
    again.close()


def test_file_that_another_program_writes_to_is_busy_and_not_an_accident(tmp_path):
    one, other = open_store(tmp_path / "customers.db"), open_store(tmp_path / "customers.db")
    with other._transaction(), pytest.raises(RuleError) as caught:
        one.update_customer(ADA, {"city": "Rome"}, version=1)
    assert caught.value.code == "file_busy"
    one.update_customer(ADA, {"city": "Rome"}, version=1)
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("name", "  ", "name_missing"),
        ("email", "", "email_invalid"),
        ("email", "ada", "email_invalid"),
        ("email", "ada@example", "email_invalid"),
        ("email", "a@b@example.com", "email_invalid"),
        ("email", "ada @example.com", "email_invalid"),
        ("status", "asleep", "status_invalid"),
        ("city", "x" * 81, "too_long"),
        ("id", "7", "unknown_field"),
        ("version", "7", "unknown_field"),
    ],
)
def test_value_that_breaks_a_rule_changes_nothing(store, field, value, code):
    before = tables(store)
    with pytest.raises(RuleError) as caught:
        store.update_customer(ADA, {"notes": "kept out", field: value}, version=1)
    assert caught.value.code == code
    assert tables(store) == before


def test_values_are_stored_without_white_space_around_them(store):
    assert store.update_customer(ADA, {"email": " ada@example.com\n"}, version=1).email == "ada@example.com"


def test_write_on_an_old_version_is_a_conflict_and_changes_nothing(store):
    """FC-22"""
    store.update_customer(ADA, {"city": "Paris"}, version=1)
    before = tables(store)
    with pytest.raises(RuleError) as caught:
        store.update_customer(ADA, {"city": "Rome"}, version=1)
    assert caught.value.code == "version_conflict"
    assert tables(store) == before
    assert store.customer(ADA).version == 2


def test_customer_with_open_orders_cannot_be_deleted_and_the_message_names_them(store):
    open_orders = [order for order in store.orders(GRACE) if order.status == "open"]
    with pytest.raises(RuleError) as caught:
        store.delete_customer(GRACE, version=1)
    assert caught.value.code == "open_orders"
    assert open_orders
    assert all(str(order.id) in caught.value.message for order in open_orders)
    assert store.customer(GRACE).name == "Grace Hopper"


def test_customer_without_open_orders_goes_with_its_closed_orders(store):
    before = tables(store)
    store.delete_customer(ALAN, version=1)
    found = changes(before, tables(store))
    assert {(change["table"], change["change"]) for change in found} == {
        ("customers", "removed"),
        ("orders", "removed"),
    }
    with pytest.raises(RuleError, match="no customer 3"):
        store.customer(ALAN)


def test_the_file_itself_refuses_orders_of_nobody(store):
    with pytest.raises(RuleError) as caught:
        store.create_order(Order(customer_id=99999, item="x", amount_cents=1, ordered_on="2026-01-01"))
    assert caught.value.code == "customer_not_found"
    with pytest.raises(sqlite3.IntegrityError), store._transaction() as connection:
        connection.execute("UPDATE orders SET customer_id = 99999")


def test_order_that_was_changed_meanwhile_is_a_conflict(store):
    order = store.orders(ADA)[0]
    with pytest.raises(RuleError) as caught:
        store.set_order_status(order.id, "shipped", expected="not " + order.status)
    assert caught.value.code == "version_conflict"
    assert store.order(order.id) == order


def test_search_ignores_case_and_accents_and_wants_every_word(store):
    assert {customer.id for customer in store.find_customers("nguyen VAN")} == {5, 6}
    assert [customer.id for customer in store.find_customers("nguyen đa nang")] == [6]
    assert [customer.id for customer in store.find_customers("王小明")] == [7]
    assert store.find_customers("nguyen paris") == []
    assert all(customer.status == "lead" for customer in store.find_customers("", "lead"))


def test_folding_takes_letters_that_do_not_decompose():
    assert fold("  Đặng   ŁUKASZ Søren ") == "dang lukasz soren"


def test_store_sees_what_another_connection_wrote(tmp_path):
    one = open_store(tmp_path / "customers.db")
    seen = one.changes_of_others
    one.update_customer(ADA, {"city": "Rome"}, version=1)
    assert one.changes_of_others == seen
    other = open_store(tmp_path / "customers.db")
    other.update_customer(ADA, {"city": "Paris"}, version=2)
    assert one.changes_of_others != seen
    one.close()
    other.close()


def test_difference_names_rows_fields_and_both_values(store):
    before = tables(store)
    store.update_customer(ADA, {"email": "ada@example.com"}, version=1)
    (change,) = changes(before, tables(store))
    assert (change["table"], change["id"], change["change"]) == ("customers", ADA, "changed")
    assert change["fields"]["email"] == {"old": "ada.lovelace@example.org", "new": "ada@example.com"}
    assert any("ada.lovelace@example.org" in line for line in in_words(change))
    assert changes(before, before) == []


def test_amounts_read_like_money():
    assert amount_text(123456) == "1,234.56 €"
