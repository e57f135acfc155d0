"""The conversation as a document: what may appear in it, how it grows, what can be clicked."""

import random
import subprocess
import sys

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QTextCursor
from PySide6.QtTest import QTest

from agentic_qt.core.call import AWAITING_SUBMIT, Outcome, Progress, Status
from agentic_qt.ui.answer import Answer
from agentic_qt.ui.cards import Card
from agentic_qt.ui.rich_text import SealedDocument
from agentic_qt.ui.theme import apply_theme
from agentic_qt.ui.transcript import Transcript
from agentic_qt.ui.transcript_items import ErrorCard, Note, UserMessage
from tests.support.assistant_stage import click_on, settled, until

pytestmark = pytest.mark.anyio

SAMPLE = """# Head

Words with *stress*, **weight** and `code`, see [the manual](https://example.com/m).

1. one
2. two
   - nested

| a | b |
|---|---|
| 1 | 2 |

```python
def f(x):
    return x
```

> quoted

- [x] done

The end.
"""

HOSTILE = [
    "<b>bold</b><script>x</script><img src='file:///etc/passwd'>",
    "![x](file:///etc/passwd)",
    "![x](http://127.0.0.1:9/{n}.png)",
    "![a ![b](http://e.example/{n})](x)",
    "[click](javascript:alert({n}))",
    "[click](file:///etc/passwd)",
    "[click](data:text/html,{n})",
    "[click](agentic-0000000000000000:0/retry)",
    "[click](qrc:/x) [click](#here) [click](relative/path)",
    "<http://ok.example/{n}>",
    "[ref]\n\n[ref]: file:///etc/{n}",
    "| ![x](file:///{n}) | [a](ftp://e.example) |\n|---|---|\n| <i>x</i> | y |",
    "- ![x](//e.example/{n})\n- <iframe src=http://e.example>",
    "```\n![x](file:///{n})\n```",
    "> ![x](\\\\server\\share\\{n})",
]


@pytest.fixture
async def transcript(qapp):
    made = Transcript()
    made.resize(420, 500)
    made.show()
    yield made
    made.close()


def fragments(document):
    block = document.begin()
    while block.isValid():
        it = block.begin()
        while not it.atEnd():
            yield it.fragment().charFormat()
            it += 1
        block = block.next()


async def show(transcript, text):
    transcript.show_text(text)
    transcript.finish_text()
    await settled(transcript)


# Hardened


async def test_nothing_that_a_model_writes_is_loaded_or_linked_where_it_should_not(transcript, monkeypatch):
    """G12, FC-78: 1,000 hostile texts; no image, no HTML, and only http, https and mailto links are left."""
    asked = []
    monkeypatch.setattr(SealedDocument, "loadResource", lambda _self, _kind, name: asked.append(name))
    monkeypatch.setattr(Transcript, "loadResource", lambda _self, _kind, name: asked.append(name))
    numbers = random.Random(7)
    for number in range(1000):
        parts = numbers.choices(HOSTILE, k=numbers.randint(1, 3))
        transcript.show_text("\n\n".join(parts).replace("{n}", str(number)))
        transcript.finish_text()
        if number % 100 == 99:
            await settled(transcript)
            transcript.grab()
            assert not any(form.isImageFormat() for form in fragments(transcript.document()))
            schemes = {QUrl(form.anchorHref()).scheme() for form in fragments(transcript.document()) if form.isAnchor()}
            assert schemes <= {"http", "https", "mailto", transcript._scheme}
            transcript.clear_conversation()
    assert asked == []


async def test_html_is_shown_as_the_text_it_is(transcript):
    """G12, FC-78"""
    await show(transcript, "<b>not bold</b> <img src='x'>")
    assert "<b>not bold</b> <img src='x'>" in transcript.toPlainText()


async def test_an_image_is_its_description(transcript):
    """FC-78"""
    await show(transcript, "See ![the plan](http://e.example/secret.png).")
    assert "[image: the plan]" in transcript.toPlainText()
    assert "secret" not in transcript.toHtml()


async def test_a_click_on_a_link_asks_and_opens_nothing(transcript, monkeypatch):
    """G12."""
    opened, asked = [], []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    transcript.link_requested.connect(asked.append)
    await show(transcript, "Read [the manual](https://example.com/m?a=1).")
    click_on(transcript, "manual")
    assert asked == [QUrl("https://example.com/m?a=1")]
    assert opened == []


async def test_an_address_of_ours_that_a_model_guesses_does_nothing(transcript):
    """The addresses of our own actions hold a secret; and even a model that knew it would get plain text."""
    retried = []
    transcript.retry_requested.connect(lambda: retried.append(1))
    await show(transcript, f"[click]({transcript._scheme}:0/retry) [click](agentic-x:0/retry)")
    assert not any(form.isAnchor() for form in fragments(transcript.document()))
    transcript.anchorClicked.emit(QUrl("agentic-x:0/retry"))
    assert retried == []


async def test_what_the_person_and_we_write_is_plain_text(transcript):
    transcript.add(UserMessage(text="<b>me</b> **me** [x](http://e.example)"))
    transcript.add(Note(text="<i>note</i>"))
    transcript.add(ErrorCard(headline="<u>head</u>", remedy="`r`", detail="<img src=x>"))
    text = transcript.toPlainText()
    for exact in ("<b>me</b> **me** [x](http://e.example)", "<i>note</i>", "<u>head</u>", "`r`", "<img src=x>"):
        assert exact in text


# Growing


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_streaming_ends_in_the_same_document_as_showing_at_once(transcript, size):
    await show(transcript, SAMPLE)
    whole = transcript.toHtml().replace(transcript._scheme, "")
    transcript.clear_conversation()
    for place in range(0, len(SAMPLE), size):
        transcript.show_text(SAMPLE[place : place + size])
        transcript.flush()
    transcript.finish_text()
    await settled(transcript)
    assert transcript.toHtml().replace(transcript._scheme, "") == whole


async def test_finished_blocks_are_not_written_again(transcript):
    transcript.show_text("First paragraph.\n\nSecond\n")
    transcript.flush()
    end = transcript.document().find("First").selectionEnd()
    changed = []
    transcript.document().contentsChange.connect(lambda place, _gone, _new: changed.append(place))
    transcript.show_text("goes on")
    transcript.flush()
    assert changed
    assert min(changed) > end


async def test_a_burst_is_shown_in_several_frames_and_loses_nothing(transcript):
    text = SAMPLE * 30
    transcript.show_text(text)
    transcript.finish_text()
    transcript.flush()
    assert transcript._dirty, "a burst of this size does not fit into one frame"
    await settled(transcript)
    assert transcript.toPlainText().count("The end.") == 30


async def test_the_view_follows_the_end(transcript):
    await show(transcript, "line\n\n" * 80)
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0


async def test_the_view_stays_where_a_person_reads(transcript):
    await show(transcript, "line\n\n" * 80)
    bar = transcript.verticalScrollBar()
    QTest.keyClick(transcript, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    bar.setValue(20)
    await show(transcript, "more\n\n" * 20)
    assert bar.value() == 20
    transcript.go_to_end()
    assert bar.value() == bar.maximum()


async def test_a_message_of_the_person_brings_the_end_into_view(transcript):
    await show(transcript, "line\n\n" * 80)
    transcript.verticalScrollBar().setValue(0)
    transcript.add(UserMessage(text="me"))
    assert transcript.verticalScrollBar().value() == transcript.verticalScrollBar().maximum()


async def test_a_change_of_the_palette_renders_again_in_the_new_colours(qapp, transcript):
    try:
        apply_theme(qapp, "light")
        await until(lambda: not transcript._styles.tones.dark)
        await show(transcript, SAMPLE)
        text, light = transcript.toPlainText(), transcript.toHtml()
        apply_theme(qapp, "dark")
        await until(lambda: transcript._styles.tones.dark)  # Qt tells widgets a turn later
        await settled(transcript)
        assert transcript.toPlainText() == text
        assert transcript.toHtml() != light
        colour = transcript.document().find("Words").charFormat().foreground().color()
        assert colour.lightness() > 180
    finally:
        apply_theme(qapp, "system")


async def test_code_is_coloured_and_can_be_copied(transcript):
    await show(transcript, SAMPLE)
    colours = {transcript.document().find(word).charFormat().foreground().color().name() for word in ("def", "x):")}
    assert len(colours) == 2
    click_on(transcript, "Copy")
    assert QGuiApplication.clipboard().text() == "def f(x):\n    return x"


async def test_an_unknown_language_is_plain_code(transcript):
    await show(transcript, "```no-such-language\nx\n```")
    assert "x" in transcript.toPlainText()


async def test_what_is_selected_is_copied_as_plain_text(transcript):
    transcript.add_card(Card(call_id="1", title="Find customer", outcome=Outcome(status=Status.OK)))
    await show(transcript, "**bold** words")
    transcript.selectAll()
    QTest.keyClick(transcript, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    data = QGuiApplication.clipboard().mimeData()
    assert "bold words" in data.text()
    assert "Find customer" in data.text()
    assert "\ufffc" not in data.text()
    assert not data.hasHtml()


# Cards


def ended(status, **more):
    return Outcome(status=status, **more)


async def test_a_card_unfolds_with_the_mouse_and_folds_again(transcript):
    card = Card(
        call_id="1",
        title="Find customer",
        arguments=[("Customer", "Ada"), ("Note", "a\u2028b")],
        outcome=ended(Status.OK, data={"id": 7}),
        duration=0.3,
    )
    transcript.add_card(card)
    await settled(transcript)
    assert "Done · 0.3 s" in transcript.toPlainText()
    assert '{\n  "id": 7' not in transcript.toPlainText()
    click_on(transcript, "Find customer")
    await settled(transcript)
    assert "Customer\tAda" in transcript.toPlainText()
    assert '"id": 7' in transcript.toPlainText()
    click_on(transcript, "Find customer")
    await settled(transcript)
    assert "Customer\tAda" not in transcript.toPlainText()


async def test_a_card_unfolds_with_the_keyboard(transcript):
    transcript.add_card(Card(call_id="1", title="Find customer", arguments=[("Customer", "Ada")]))
    await settled(transcript)
    transcript.setFocus()
    QTest.keyClick(transcript, Qt.Key.Key_Tab)
    QTest.keyClick(transcript, Qt.Key.Key_Return)
    await settled(transcript)
    assert "Customer\tAda" in transcript.toPlainText()


async def test_a_pending_approval_forces_the_card_open_and_gives_the_fold_back(transcript):
    card = Card(call_id="1", title="Mark customer", arguments=[("Customer", "Ada")])
    transcript.add_card(card)
    for waiting, shown in ((True, True), (False, False)):
        card.waiting = waiting
        transcript.update_card(card)
        await settled(transcript)
        assert ("Customer\tAda" in transcript.toPlainText()) is shown
    card.waiting = True
    transcript.update_card(card)
    await settled(transcript)
    assert "Waiting for you" in transcript.toPlainText()
    click_on(transcript, "Mark customer")
    await settled(transcript)
    assert "Customer\tAda" in transcript.toPlainText(), "it cannot be folded away while it waits"


@pytest.mark.parametrize(
    ("outcome", "retry"),
    [
        (ended(Status.FORBIDDEN, code="policy", retry="no"), False),
        (ended(Status.DENIED, code="person", retry="no"), False),
        (ended(Status.UNKNOWN, retry="never"), False),
        (ended(Status.DENIED, code="expired", retry="no"), True),
        (ended(Status.BUSY, retry="later"), True),
        (ended(Status.FAILED, retry="later"), True),
    ],
)
async def test_only_what_may_be_tried_again_offers_it(transcript, outcome, retry):
    asked = []
    transcript.call_retry_requested.connect(asked.append)
    transcript.add_card(Card(call_id="c1", title="Mark customer", open=True, outcome=outcome))
    await settled(transcript)
    assert ("Try again" in transcript.toPlainText()) is retry
    if retry:
        click_on(transcript, "Try again")
        assert asked == ["c1"]


@pytest.mark.parametrize("status", list(Status))
async def test_every_status_has_a_word_and_an_icon(transcript, status):
    card = Card(call_id="1", title="T", outcome=ended(status))
    transcript.add_card(card)
    await settled(transcript)
    assert card.word
    assert card.word in transcript.toPlainText()
    assert not transcript.grab().isNull()


async def test_a_late_end_is_shown_on_its_card(transcript):
    """FC-04"""
    card = Card(call_id="1", title="Mark customer", outcome=ended(Status.UNKNOWN))
    transcript.add_card(card)
    await settled(transcript)
    assert "Outcome not known" in transcript.toPlainText()
    card.outcome, card.late = ended(Status.OK), True
    transcript.update_card(card)
    await settled(transcript)
    assert "Done, late" in transcript.toPlainText()
    assert "Outcome not known" not in transcript.toPlainText()


async def test_a_form_that_waits_for_the_person_is_said_in_words_and_not_by_its_code(transcript):
    card = Card(call_id="1", title="Book a car")
    transcript.add_card(card)
    card.progress = Progress(done=0, message=AWAITING_SUBMIT)
    transcript.update_card(card)
    await settled(transcript)
    assert "press its button" in transcript.toPlainText()
    assert AWAITING_SUBMIT not in transcript.toPlainText()


async def test_progress_is_shown_and_replaced(transcript):
    card = Card(call_id="1", title="Import")
    transcript.add_card(card)
    for done in range(101):
        card.progress = Progress(done=done, total=100, message="rows")
        transcript.update_card(card)
    await settled(transcript)
    assert "100 % · rows" in transcript.toPlainText()
    assert transcript.toPlainText().count("rows") == 1


async def test_many_calls_in_a_row_are_one_line_until_they_are_asked_for(transcript):
    for number in range(6):
        status = Status.FAILED if number == 2 else Status.OK
        transcript.add_card(Card(call_id=str(number), title=f"Step{number}", outcome=ended(status)))
    await settled(transcript)
    assert "6 steps" in transcript.toPlainText()
    assert "5 done · 1 not done" in transcript.toPlainText()
    assert "Step3" not in transcript.toPlainText()
    click_on(transcript, "6 steps")
    await settled(transcript)
    assert all(f"Step{number}" in transcript.toPlainText() for number in range(6))


async def test_a_group_hides_nothing_that_runs_or_waits(transcript):
    for number in range(5):
        transcript.add_card(Card(call_id=str(number), title=f"Step{number}", outcome=ended(Status.OK)))
    transcript.add_card(Card(call_id="r", title="Runner"))
    transcript.add_card(Card(call_id="w", title="Waiter", waiting=True, arguments=[("Row", "9")]))
    await settled(transcript)
    text = transcript.toPlainText()
    assert "Step1" not in text
    assert "Runner" in text
    assert "Row\t9" in text


async def test_a_long_value_is_shown_whole_on_request(transcript):
    """FC-20"""
    transcript.add_card(Card(call_id="1", title="T", open=True, arguments=[("Text", "x" * 5000 + "TAIL")]))
    await settled(transcript)
    assert "TAIL" not in transcript.toPlainText()
    assert "Show all 5004 characters" in transcript.toPlainText()
    click_on(transcript, "Show all")
    await settled(transcript)
    assert "TAIL" in transcript.toPlainText()


async def test_words_between_calls_part_the_boxes(transcript):
    transcript.add_card(Card(call_id="1", title="A"))
    await show(transcript, "words")
    transcript.add_card(Card(call_id="2", title="B"))
    await settled(transcript)
    text = transcript.toPlainText()
    assert text.index("A") < text.index("words") < text.index("B")
    assert len(transcript.contents) == 3


async def test_a_retry_takes_the_error_away(transcript):
    retried = []
    transcript.retry_requested.connect(lambda: retried.append(1))
    await show(transcript, "before")
    transcript.add(ErrorCard(headline="Broken", remedy="Mend it", can_retry=True))
    click_on(transcript, "Try again")
    assert retried == [1]
    transcript.drop_last_error()
    await settled(transcript)
    assert "Broken" not in transcript.toPlainText()
    assert "before" in transcript.toPlainText()


async def test_a_thousand_messages_are_painted_by_what_is_in_view(transcript):
    for number in range(300):
        transcript.add(UserMessage(text=f"message {number}"))
        transcript.add(Note(text="note"))
    seen = []
    from agentic_qt.ui.transcript_items import BoxPainter

    paint = BoxPainter.paint
    BoxPainter.paint = lambda self, painter, item: (seen.append(item.number), paint(self, painter, item))
    try:
        transcript.grab()
    finally:
        BoxPainter.paint = paint
    assert 0 < len(seen) < 60
    assert max(seen) == 599


async def test_clearing_leaves_an_empty_conversation(transcript):
    await show(transcript, SAMPLE)
    transcript.clear_conversation()
    assert transcript.toPlainText().strip() == ""
    assert transcript.contents == ()
    await show(transcript, "again")
    assert isinstance(transcript.contents[0], Answer)
    cursor = QTextCursor(transcript.document())
    assert cursor.position() == 0
    assert transcript.cursorForPosition(QPoint(5, 5)) is not None


def test_an_application_that_ends_with_our_words_in_the_clipboard_ends_cleanly() -> None:
    """The clipboard outlives the interpreter: nothing of Python's may be left in it."""
    code = (
        "from PySide6.QtWidgets import QApplication\n"
        "from PySide6.QtGui import QGuiApplication\n"
        "from agentic_qt.ui.transcript import Transcript\n"
        "app = QApplication([])\n"
        "transcript = Transcript()\n"
        "transcript.setPlainText('some words')\n"
        "transcript.selectAll()\n"
        "transcript.copy()\n"
        "print(QGuiApplication.clipboard().text())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout) == (0, "some words\n"), done.stderr
