"""Counting tokens: reported, counted or estimated."""

import pytest

from agentic_qt.client.tokens import TOKENS_PER_BYTE, TokenMeter, estimate, estimate_messages

pytestmark = pytest.mark.anyio


class Counting:
    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def count_tokens(self, text):
        self.asked.append(text)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_latin_text_is_estimated_by_its_bytes():
    assert estimate("a" * 1000) == pytest.approx(1000 * TOKENS_PER_BYTE)


@pytest.mark.parametrize("text", ["设置邮箱", "địa chỉ", "адрес"])
def test_other_scripts_get_a_margin(text):
    assert estimate(text) > len(text.encode()) * TOKENS_PER_BYTE
    assert estimate(text) >= sum(character > "\x7f" for character in text)


def test_what_was_reported_is_the_rate_from_then_on():
    meter = TokenMeter()
    message = {"role": "user", "content": "a" * 400}
    before = meter.count(message)
    meter.learn(estimate_messages([message]), 2 * round(estimate_messages([message])))
    assert meter.measured
    assert 1.9 * before < meter.count(message) < 2.3 * before


@pytest.mark.parametrize("tokens", [0, -1, 10_000_000])
def test_a_report_that_cannot_be_is_not_believed(tokens):
    meter = TokenMeter()
    meter.learn(1000.0, tokens)
    assert not meter.measured


async def test_a_chat_model_that_can_count_is_asked_once():
    meter, model = TokenMeter(), Counting(300)
    messages = [{"role": "user", "content": "a" * 1000}]
    await meter.measure(model, messages)
    await meter.measure(model, messages)
    assert len(model.asked) == 1
    assert meter.measured


async def test_what_cannot_be_counted_is_estimated(caplog):
    meter = TokenMeter()
    await meter.measure(Counting(None), [{"role": "user", "content": "a"}])
    assert caplog.text == ""
    await meter.measure(Counting(OSError("gone")), [{"role": "user", "content": "a"}])
    await meter.measure(object(), [{"role": "user", "content": "a"}])
    assert not meter.measured
    assert "could not count" in caplog.text
