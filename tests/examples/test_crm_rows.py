"""The rules of the customer application that look at rows, and its statements, without a window or a service."""

from dataclasses import asdict

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from examples.crm import rows
from examples.crm.domain import Order, RuleError

ADA, GRACE, ALAN, AN_OF_HANOI, AN_OF_DANANG = 1, 2, 3, 5, 6


def everything(db):
    return [asdict(row) for row in (*rows.customers(db), *rows.orders(db))]


def refused(function, *arguments):
    with pytest.raises(RuleError) as caught:
        function(*arguments)
    return caught.value


def test_change_makes_the_version_greater_and_no_change_leaves_it(db):
    assert rows.update_customer(db, ADA, {"city": " Paris "}).city == "Paris"
    assert rows.customer_version(db, ADA) == 2
    rows.update_customer(db, ADA, {})
    assert rows.customer_version(db, ADA) == 2
    assert rows.customer_version(db, 9999) is None


def test_value_that_breaks_a_rule_changes_nothing(db):
    before = everything(db)
    assert refused(rows.update_customer, db, ADA, {"notes": "kept out", "email": "ada"}).code == "email_invalid"
    assert refused(rows.update_customer, db, 9999, {"city": "Rome"}).code == "customer_not_found"
    assert everything(db) == before


def test_new_customer_needs_a_name_and_an_address(db):
    assert refused(rows.add_customer, db, {"name": "Barbara"}).code == "email_invalid"
    assert refused(rows.add_customer, db, {"email": "b@example.com"}).code == "name_missing"
    made = rows.add_customer(db, {"name": "Barbara", "email": "b@example.com"})
    assert (made.id, made.status, made.version) == (241, "lead", 1)


def test_customer_with_open_orders_cannot_be_deleted_and_the_message_names_them(db):
    open_orders = [order for order in rows.orders(db, GRACE) if order.status == "open"]
    error = refused(rows.delete_customer, db, GRACE)
    assert error.code == "open_orders"
    assert open_orders
    assert all(str(order.id) in error.message for order in open_orders)
    assert rows.customer(db, GRACE).name == "Grace Hopper"


def test_customer_without_open_orders_goes_with_its_closed_orders(db):
    count = len(rows.orders(db))
    assert rows.delete_customer(db, ALAN).name == "Alan Turing"
    assert refused(rows.customer, db, ALAN).code == "customer_not_found"
    assert len(rows.orders(db)) == count - 2


def test_merge_moves_the_orders_fills_what_is_empty_joins_the_notes_and_deletes_the_other(db):
    rows.update_customer(db, AN_OF_HANOI, {"phone": "+84 24 1234", "notes": "Calls at nine"})
    rows.update_customer(db, AN_OF_DANANG, {"notes": "Likes tea"})
    moving = {order.id for order in rows.orders(db, AN_OF_HANOI)}
    had = {order.id for order in rows.orders(db, AN_OF_DANANG)}
    plan = rows.merge_customers(db, AN_OF_HANOI, AN_OF_DANANG)
    kept = rows.customer(db, AN_OF_DANANG)
    assert dict(plan.changes) == {"phone": "+84 24 1234", "notes": "Likes tea\nCalls at nine"}
    assert (kept.phone, kept.notes) == ("+84 24 1234", "Likes tea\nCalls at nine")
    assert (kept.company, kept.city, kept.version) == ("An Phát Furniture", "Đà Nẵng", 3)
    assert {order.id for order in rows.orders(db, AN_OF_DANANG)} == had | moving
    assert all(rows.order_version(db, number) == 2 for number in moving)
    assert refused(rows.customer, db, AN_OF_HANOI).code == "customer_not_found"


def test_merge_that_is_not_possible_changes_nothing(db):
    before = everything(db)
    assert refused(rows.merge_customers, db, ADA, ADA).code == "same_customer"
    assert refused(rows.merge_customers, db, ADA, 9999).code == "customer_not_found"
    assert refused(rows.merge_customers, db, 9999, ADA).code == "customer_not_found"
    assert everything(db) == before
    for customer in (AN_OF_HANOI, AN_OF_DANANG):
        rows.update_customer(db, customer, {"notes": str(customer) * 3000})
    before = everything(db)
    assert refused(rows.merge_customers, db, AN_OF_HANOI, AN_OF_DANANG).code == "too_long"
    assert everything(db) == before


def test_notes_that_are_the_same_are_not_doubled(db):
    for customer in (AN_OF_HANOI, AN_OF_DANANG):
        rows.update_customer(db, customer, {"notes": "Likes tea"})
    assert "notes" not in rows.plan_merge(db, AN_OF_HANOI, AN_OF_DANANG).changes


def test_the_file_itself_refuses_orders_of_nobody(db):
    order = Order(customer_id=99999, item="x", amount_cents=1, ordered_on="2026-01-01")
    assert refused(rows.add_order, db, order).code == "customer_not_found"
    db.rollback()
    db.exec_driver_sql("PRAGMA foreign_keys = ON")
    with pytest.raises(IntegrityError):
        db.execute(text("UPDATE orders SET customer_id = 99999"))


@pytest.mark.parametrize("broken", [{"item": " "}, {"amount_cents": -1}, {"status": "lost"}])
def test_order_that_breaks_a_rule_is_not_stored(db, broken):
    values = {"customer_id": ADA, "item": "x", "amount_cents": 1, "ordered_on": "2026-01-01"}
    assert refused(rows.add_order, db, Order(**values | broken)).code == "order_invalid"


def test_order_gets_a_known_status_and_another_version(db):
    assert rows.set_order_status(db, 1001, "paid").status == "paid"
    assert rows.order_version(db, 1001) == 2
    assert refused(rows.set_order_status, db, 1001, "lost").code == "status_invalid"
    assert refused(rows.set_order_status, db, 7, "paid").code == "order_not_found"


def test_search_ignores_case_and_accents_and_wants_every_word(db):
    def found(words, status="all"):
        return {customer.id for customer in rows.find_customers(db, words, status)}

    assert found("nguyen VAN") == {5, 6}
    assert found("nguyen đa nang") == {6}
    assert found("王小明") == {7}
    assert found("nguyen paris") == set()
    assert found("", "lead")
    assert all(customer.status == "lead" for customer in rows.find_customers(db, "", "lead"))
