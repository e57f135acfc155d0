"""Names on the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_qt.core.errors import WireNameError
from agentic_qt.protocol.names import MAX_WIRE_NAME, WIRE_NAME, to_wire, wire_names


@given(st.text(max_size=200))
def test_every_name_becomes_one_that_every_provider_takes(name):
    """FC-50."""
    assert WIRE_NAME.fullmatch(to_wire(name))


@given(st.text(max_size=200))
def test_a_wire_name_stays_what_it_is(name):
    """FC-50: names in replayed history go through the same function again."""
    assert to_wire(to_wire(name)) == to_wire(name)


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("form.save", "form_save"),
        ("a-b", "a-b"),
        ("_private", "_private"),
        ("2fa.enable", "_2fa_enable"),
        ("-x", "_-x"),
        ("constructor", "constructor"),
        ("__class__", "__class__"),
        ("toString", "toString"),
    ],
)
def test_plain_names_are_readable_on_the_wire(name, wire):
    """FC-50, FC-33."""
    assert to_wire(name) == wire


def test_long_names_that_differ_at_the_end_stay_apart_and_are_the_same_in_every_process():
    """FC-50."""
    one, other = "customer." + "x" * 80 + ".save", "customer." + "x" * 80 + ".drop"
    assert to_wire(one) != to_wire(other)
    assert len(to_wire(one)) == MAX_WIRE_NAME
    assert to_wire("khách_hàng.lưu") == "kh_ch_h_ng_l_u_9e3ec971"


def test_names_that_differ_in_foreign_letters_only_stay_apart():
    names = ["客户.保存", "客户.删除"]
    assert list(wire_names(names).values()) == names


def test_two_names_that_meet_on_the_wire_are_refused_and_both_quoted():
    """FC-50."""
    with pytest.raises(WireNameError, match=r"'form\.save' and 'form_save'.*'form_save'"):
        wire_names(["form.save", "form_save"])


def test_the_same_name_twice_is_one_name():
    assert wire_names(["a.b", "c", "a.b"]) == {"a_b": "a.b", "c": "c"}


def test_names_of_python_and_javascript_objects_are_ordinary_names():
    """FC-33."""
    names = ["constructor", "__class__", "__proto__", "hasOwnProperty", "keys", "get"]
    assert wire_names(names) == {name: name for name in names}
