"""Which capabilities are found by which words."""

import gc
import json
import os
import random
import weakref
from pathlib import Path
from typing import Any

import pytest

from agentic_qt import Registry, Target
from agentic_qt.core.capability import Capability
from agentic_qt.core.ranking import FieldTerms, Ranking
from agentic_qt.core.search import MAX_QUERY, MAX_SCHEMA, CapabilityIndex
from agentic_qt.core.terms import STOP_WORDS, query_terms, terms
from tests.support.declare import declare

VECTORS = Path(os.environ.get("AGENTIC_QT_VECTORS", "/nowhere")) / "toolsearch"
needs_vectors = pytest.mark.skipif(not VECTORS.is_dir(), reason="the tool search sets are not here")


def names(found: Any) -> list[str]:
    return [hit.name for hit in found]


def find(query: str, *capabilities: Capability, limit: int = 5) -> list[str]:
    return names(CapabilityIndex(capabilities).search(query, limit=limit))


def speaking(name: str, description: str = "Something.", **fields: Any) -> Capability:
    return declare(name, description=description, **fields)


# The measure


@needs_vectors
@pytest.mark.parametrize(("file", "least"), [("bfcl", 0.87), ("sealtools", 0.98), ("metatool", 0.67)])
def test_the_tool_that_is_meant_is_among_the_first_five(file: str, least: float) -> None:
    data = json.loads((VECTORS / f"{file}.json").read_text())
    index = CapabilityIndex(
        speaking(
            tool["name"],
            tool["description"],
            input_schema={
                "type": "object",
                "properties": {name: {"type": "string", "description": said or ""} for name, said in tool["params"]},
            },
        )
        for tool in data["tools"]
    )
    found = sum(query["gold"] in names(index.search(query["q"])) for query in data["queries"])
    assert len(data["queries"]) > 200
    assert found / len(data["queries"]) >= least


# What is searched


def test_a_capability_is_found_by_each_thing_that_its_programmer_wrote() -> None:
    schema = {
        "type": "object",
        "properties": {
            "recipient": {"type": "string", "description": "The addressee of the parcel"},
            "speed": {"enum": ["express", "ordinary"]},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        },
        "$defs": {"line": {"type": "object", "properties": {"voucher": {"anyOf": [{"title": "Rebate"}]}}}},
    }
    wanted = declare(
        "shipment.create",
        title="Send goods",
        description="Dispatch an order.",
        input_schema=schema,
        handler=lambda **given: None,
        examples=[("Mail it to Ada", {"recipient": "Ada"})],
    )
    others = [speaking(f"other.thing_{number}", "Something else entirely.") for number in range(20)]
    for word in ("shipment", "goods", "dispatch", "recipient", "addressee", "express", "voucher", "rebate", "mail"):
        assert find(word, *others, wanted) == ["shipment.create"], word


def test_the_name_counts_more_than_the_description_and_that_more_than_a_parameter() -> None:
    schema = {"type": "object", "properties": {"invoice": {"type": "string"}}}
    capabilities = (
        speaking("one.thing", "A thing.", input_schema=schema, handler=lambda invoice="": None),
        speaking("two.thing", "Invoice thing."),
        speaking("invoice.thing", "A thing."),
    )
    assert find("invoice", *capabilities) == ["invoice.thing", "two.thing", "one.thing"]


def test_nothing_is_returned_for_words_that_nobody_wrote_and_for_no_words() -> None:
    capability = speaking("customer.delete", "Delete a customer.")
    for query in ("zeppelin", "", "   ", "?!", "🦊"):
        assert find(query, capability) == []
    assert find("customer", capability, limit=0) == []
    assert find("customer", capability, limit=-3) == []
    assert find("customer") == []


def test_equal_results_keep_the_order_of_the_catalogue() -> None:
    capabilities = [speaking(f"{letter}.run", "Start it.") for letter in "dbca"]
    assert find("start", *capabilities) == ["d.run", "b.run", "c.run", "a.run"]
    assert find("start", *capabilities, limit=2) == ["d.run", "b.run"]


def test_targets_of_one_name_are_one_result_that_knows_them_all() -> None:
    capabilities = [declare("board.clear", target=Target(id=letter)) for letter in "ab"]
    (hit,) = CapabilityIndex(capabilities).search("clear the board")
    assert hit.capability is capabilities[0]
    assert hit.targets == tuple(capabilities)
    assert len(CapabilityIndex(capabilities)) == 1


@pytest.mark.parametrize("name", ["__class__", "constructor", "__init__.x", "toString", "agent.execute"])
def test_names_that_mean_something_to_a_language_are_ordinary(name: str) -> None:
    """FC-33."""
    assert find(name, speaking("other.thing"), speaking(name)) == [name]


def test_a_huge_or_odd_query_and_odd_schemas_are_harmless() -> None:
    odd: Any = {"properties": {"a": True, "b": {"enum": [1, None], "title": 3, "items": False}}, "allOf": "no list"}
    deep: Any = {}
    for _ in range(3000):
        deep = {"items": deep}
    capabilities = (speaking("a.b", input_schema=odd), speaking("c.d", "Find words.", input_schema=deep))
    assert find("words " * 100_000 + "\ud800\x00", *capabilities) == ["c.d"]
    assert find("x " * MAX_QUERY + "words", *capabilities) == []


def test_a_result_carries_its_schema_closed_and_as_a_copy_when_it_is_small_enough() -> None:
    small = declare("note.small", input_schema={"type": "object", "properties": {"text": {"type": "string"}}})
    large = declare("note.large", input_schema={"type": "object", "description": "x" * MAX_SCHEMA})
    first, second = CapabilityIndex([small, large]).search("note")
    assert (first.name, second.name) == ("note.small", "note.large")
    assert first.schema == {**small.input_schema, "additionalProperties": False}
    assert second.schema is None
    schema: Any = first.schema
    schema["properties"].clear()
    assert first.schema == {**small.input_schema, "additionalProperties": False}
    assert first.score > 0


def test_targets_with_different_schemas_have_no_schema_in_common() -> None:
    one = declare("board.set", target=Target(id="a"))
    two = declare("board.set", target=Target(id="b"), input_schema={"type": "object", "description": "Another."})
    (hit,) = CapabilityIndex([one, two]).search("board")
    assert hit.schema is None


# Words


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("customerDelete", "delete customer"),
        ("customer_delete", "CUSTOMER"),
        ("GitHubIssues", "github"),
        ("GitHubIssues", "git hub"),
        ("performCopyEditing", "copyediting"),
        ("copyediting", "copy editing"),
        ("HTTPServer.restart", "http server"),
        ("mp3.play", "play an MP3"),
        ("customers.search", "customer"),
        ("companies.list", "company"),
        ("order.delete", "deleting orders"),
        ("order.delete", "deleted"),
        ("todo.add", "to do"),
    ],
)
def test_names_are_found_however_they_are_put_together(written: str, asked: str) -> None:
    assert find(asked, speaking("other.thing"), speaking(written)) == [written]


@pytest.mark.parametrize("asked", ["xóa khách hàng", "xoa khach hang", "XÓA KHÁCH", "xo\u0301a", "khach hàng"])
@pytest.mark.parametrize("written", ["Xóa một khách hàng.", "Xoa mot khach hang."])
def test_vietnamese_is_found_with_and_without_its_marks_both_ways(asked: str, written: str) -> None:
    wanted = speaking("customer.delete", "Delete.", examples=[(written, {})])
    other = speaking("order.open", "Open.", examples=[("Mở đơn đặt", {})])
    assert find(asked, other, wanted) == ["customer.delete"]
    assert find("mo don dat", wanted, other) == ["order.open"]


def test_the_right_marks_are_preferred_to_other_ones() -> None:
    capabilities = [speaking(f"a.{number}", text) for number, text in enumerate(("bán", "bản", "bạn", "ban"))]
    assert find("bạn", *capabilities)[0] == "a.2"


def test_a_word_that_is_a_stop_word_without_its_marks_is_still_found() -> None:
    assert find("thẻ", speaking("a.b", "the end"), speaking("card.add", "Thêm thẻ")) == ["card.add"]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("删除客户", "请把这个客户删除掉"),
        ("顧客を削除する", "顧客の削除"),
        ("고객 삭제", "고객을 삭제해 주세요"),
        ("ลบลูกค้า", "กรุณาลบลูกค้ารายนี้"),
        ("ग्राहक हटाएँ", "ग्राहक"),
        ("Удалить клиента", "клиента удалить"),
        ("Straße löschen", "STRASSE"),
        ("\uff21\uff22\uff23", "abc"),
    ],
)
def test_other_scripts_are_found(written: str, asked: str) -> None:
    others = [speaking("order.open", "打开订单 注文を開く 주문 열기 เปิดคำสั่งซื้อ ऑर्डर खोलें Открыть заказ", examples=[])]
    assert find(asked, *others, speaking("customer.delete", written))[0] == "customer.delete"


def test_stop_words_do_not_count_unless_there_is_nothing_else() -> None:
    assert query_terms("what is the order") == ["order"]
    assert STOP_WORDS.issuperset({"what", "is", "the"})
    assert {"to", "be", "or"} <= set(query_terms("to be or"))
    assert "the" in terms("the end").words


# The ranking


def test_the_short_cut_changes_no_result() -> None:
    """Every query gets what the plain sum over all terms would give it."""
    random_words = random.Random(7)
    vocabulary = [f"w{number}" for number in range(40)]
    weights = [1 / (1 + number) for number in range(40)]
    documents = []
    for _ in range(400):
        words = random_words.choices(vocabulary, weights, k=random_words.randint(1, 12))
        counts: Any = {word: words.count(word) for word in words}
        documents.append((FieldTerms(counts=counts, length=len(words)),))
    ranking = Ranking(documents, (1.0,))
    for _ in range(300):
        query = list(dict.fromkeys(random_words.choices(vocabulary, k=random_words.randint(1, 10))))
        alone = {word: dict(ranking.best([word], 400)) for word in query}
        totals = {at: sum(scores.get(at, 0.0) for scores in alone.values()) for at in range(400)}
        expected = sorted((-round(total, 6), at) for at, total in totals.items() if total)[:5]
        assert [(-round(score, 6), at) for at, score in ranking.best(query, 5)] == expected


# The scorer


def test_a_scorer_finds_what_the_words_do_not() -> None:
    capabilities = [speaking("customer.delete"), speaking("theme.set"), speaking("order.open")]
    asked: list[str] = []

    def scorer(query: str, among: Any) -> list[float]:
        asked.append(query)
        return [0.9 if capability.name == "theme.set" else 0.1 for capability in among]

    assert names(CapabilityIndex(capabilities, scorer=scorer).search("make it darker", limit=1)) == ["theme.set"]
    assert asked == ["make it darker"]
    best, *_ = CapabilityIndex(capabilities, scorer=scorer).search("set the theme")
    assert best.name == "theme.set"


@pytest.mark.parametrize(
    "bad", [lambda q, c: 1 / 0, lambda q, c: [1.0], lambda q, c: [float("nan")] * 2, lambda q, c: None]
)
def test_a_scorer_that_fails_leaves_the_words_to_decide(bad: Any) -> None:
    capabilities = [speaking("customer.delete"), speaking("theme.set")]
    assert names(CapabilityIndex(capabilities, scorer=bad).search("theme")) == ["theme.set"]


# The registry's index


def test_the_index_of_a_registry_is_kept_as_long_as_its_revision(registry: Registry) -> None:
    first = registry.register(speaking("customer.delete"))
    index = CapabilityIndex.of(registry)
    assert CapabilityIndex.of(registry) is index
    registry.register(speaking("customer.open"))
    later = CapabilityIndex.of(registry)
    assert later is not index
    assert names(later.search("customer")) == ["customer.delete", "customer.open"]
    assert names(index.search("customer")) == ["customer.delete"]
    first.dispose()
    assert names(CapabilityIndex.of(registry).search("customer")) == ["customer.open"]


def test_a_replaced_description_is_found_by_its_new_words_only(registry: Registry) -> None:
    registration = registry.register(speaking("a.b", "Old words."))
    assert names(CapabilityIndex.of(registry).search("old")) == ["a.b"]
    registration.replace(description="New words.")
    assert names(CapabilityIndex.of(registry).search("old")) == []
    assert names(CapabilityIndex.of(registry).search("new")) == ["a.b"]


def test_what_is_suspended_is_not_found(registry: Registry) -> None:
    registration = registry.register(speaking("customer.delete"))
    registration.suspend("no selection")
    assert CapabilityIndex.of(registry).search("customer") == []
    registration.resume()
    assert names(CapabilityIndex.of(registry).search("customer")) == ["customer.delete"]


def test_another_scorer_makes_another_index(registry: Registry) -> None:
    registry.register(speaking("customer.delete"))

    def scorer(_query: str, among: Any) -> list[float]:
        return [1.0] * len(among)

    plain = CapabilityIndex.of(registry)
    scored = CapabilityIndex.of(registry, scorer=scorer)
    assert scored is not plain
    assert CapabilityIndex.of(registry, scorer=scorer) is scored


def test_an_index_keeps_no_registry_alive() -> None:
    registry = Registry()
    registry.register(speaking("customer.delete"))
    CapabilityIndex.of(registry)
    gone = weakref.ref(registry)
    del registry
    gc.collect()
    assert gone() is None
