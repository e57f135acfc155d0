"""Which customer or order the words of a request mean."""

import pytest

from agentic_qt.core.errors import CapabilityError
from examples.crm.lookup import find_customer, find_order


@pytest.mark.parametrize(
    "words", ["Ada Lovelace", "ada lovelace", " ADA  LOVELACE ", "1", "#1", "customer 1", "lovelace",
              "ada.lovelace@example.org", "Customer Ada Lovelace"],
)  # fmt: skip
def test_name_id_or_address_finds_the_customer(store, words):
    assert find_customer(store, words).id == 1


def test_two_of_one_name_are_told_with_their_ids(store):
    """FC-27"""
    with pytest.raises(CapabilityError) as caught:
        find_customer(store, "Nguyễn Văn An")
    assert caught.value.code == "customer_ambiguous"
    assert "5 (Nguyễn Văn An, Sông Hồng Logistics" in caught.value.hint
    assert "6 (Nguyễn Văn An, An Phát Furniture" in caught.value.hint


def test_many_candidates_are_counted_and_not_all_listed(store):
    with pytest.raises(CapabilityError) as caught:
        find_customer(store, "a")
    assert " more" in caught.value.hint
    assert len(caught.value.hint) < 900


def test_unknown_name_gets_the_similar_ones(store):
    with pytest.raises(CapabilityError) as caught:
        find_customer(store, "Grace Hoper")
    assert caught.value.code == "customer_not_found"
    assert "2 (Grace Hopper" in caught.value.hint


@pytest.mark.parametrize("words", ["99999", "", "   ", "Zebulon Quux", "customer "])
def test_what_means_nobody_is_not_found(store, words):
    with pytest.raises(CapabilityError) as caught:
        find_customer(store, words)
    assert caught.value.code == "customer_not_found"


@pytest.mark.parametrize("words", ["1001", "#1001", "order 1001", "Order #1001"])
def test_order_is_found_by_its_number(store, words):
    assert find_order(store, words).id == 1001


@pytest.mark.parametrize("words", ["", "1", "the newest"])
def test_order_that_is_not_there_is_not_found(store, words):
    with pytest.raises(CapabilityError) as caught:
        find_order(store, words)
    assert caught.value.code == "order_not_found"
