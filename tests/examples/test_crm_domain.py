"""The values of the customer application and the rules of their fields."""

import pytest

from examples.crm.domain import RuleError, amount_text, check_field, fold
from examples.crm.sample_data import sample_customers, sample_orders


def test_samples_are_always_the_same_and_reach_nobody():
    customers = sample_customers()
    assert customers == sample_customers()
    assert sample_orders() == sample_orders()
    assert len(customers) >= 200
    assert all(customer.email.endswith(("@example.com", "@example.org")) for customer in customers)
    assert len({customer.email for customer in customers}) == len(customers)


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
def test_value_that_breaks_a_rule_is_refused(field, value, code):
    with pytest.raises(RuleError) as caught:
        check_field(field, value)
    assert caught.value.code == code
    assert caught.value.message


def test_values_are_stored_without_white_space_around_them():
    assert check_field("email", " ada@example.com\n") == "ada@example.com"


def test_folding_takes_letters_that_do_not_decompose():
    assert fold("  Đặng   ŁUKASZ Søren ") == "dang lukasz soren"


def test_amounts_read_like_money():
    assert amount_text(123456) == "1,234.56 €"
