"""A conversation with tools, told to a chat model that has none."""

from agentic_qt.client.plain_history import without_tools

USER = {"role": "user", "content": "Save both."}


def asking(content, *names):
    calls = [
        {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for place, name in enumerate(names)
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls, "reasoning": "hm"}


def answer(place, content="done"):
    return {"role": "tool", "tool_call_id": f"c{place}", "content": content}


def test_roles_alternate_whatever_happened():
    messages = [USER, asking("", "form_save", "list_save"), answer(0), answer(1), asking(None, "form_save"), answer(0)]
    plain = without_tools(messages)
    assert [message["role"] for message in plain] == ["user", "assistant", "user", "assistant", "user"]
    assert plain[1]["content"] == "I called form_save with {}.\nI called list_save with {}."
    assert plain[2]["content"].count("Result of ") == 2
    assert not any("tool_calls" in message or "tool_call_id" in message for message in plain)


def test_a_conversation_without_tools_stays_as_it_is():
    messages = [{"role": "system", "content": "Be brief."}, USER, {"role": "assistant", "content": "No.", "extra": 1}]
    assert without_tools(messages) == messages


def test_the_messages_are_not_changed():
    messages = [USER, asking("", "form_save"), answer(0), USER]
    before = [dict(message) for message in messages]
    without_tools(messages)
    assert messages == before


def test_content_in_parts_stays_in_parts():
    parts = {"role": "user", "content": [{"type": "text", "text": "Look."}]}
    assert without_tools([parts, USER]) == [parts, USER]


def test_an_outcome_is_told_under_the_name_of_its_newest_call():
    """FC-62: call ids repeat across turns."""
    plain = without_tools([asking("", "form_save"), answer(0, "1"), asking("", "list_save"), answer(0, "2")])
    assert [message["content"][:20] for message in plain[1::2]] == ["Result of form_save ", "Result of list_save "]
