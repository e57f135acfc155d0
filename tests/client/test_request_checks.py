"""The judges of our requests: each objects to what a provider refuses, and to nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.request_checks import PUBLISHED, RequestRefusedError, check_request, problems_of

RECORDED = Path(__file__).parents[1] / "data" / "llamacpp"
NAMES = {"b01_dot_name", "b02_name_65", "b03_name_space", "b04_name_empty", "b05_name_unicode", "b07_name_starts_digit"}
REFUSED = {
    *NAMES,
    *("b06_duplicate", "c01_empty_tools", "c02_empty_tools_required", "c03_choice_without_tools"),
    *("d01_orphan_tool_call", "d02_unknown_tool_call_id", "d03_tool_msg_first", "d04_tool_msg_no_id"),
    *("d05_good_roundtrip", "d06_args_not_json", "d07_args_object", "d08_tool_calls_empty_list"),
    *("d09_tool_content_dict", "d10_missing_type_in_call", "e03_bad_type", "e04_props_is_list"),
    *("e05_params_is_list", "e12_responses_flat_tool", "f02_no_messages", "f03_empty_messages", "f04_bad_role"),
}
ONLY_PUBLISHED = {"c04_choice_bogus", "e11_tool_missing_type", "f07_temperature_9"}
CUT_SHORT = {"f06_context_overflow"}  # 60 kB of the same word: the recording was shortened and is no JSON


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.request.json").read_text())


def names() -> list[str]:
    found = {path.name.removesuffix(".request.json") for path in RECORDED.glob("*.request.json")}
    return sorted(found - CUT_SHORT)


@pytest.mark.parametrize("name", names())
def test_recorded_requests_are_judged_as_strict_providers_do(name: str) -> None:
    problems = list(problems_of(recorded(name)))
    if name in ONLY_PUBLISHED:
        assert bool(problems) is (PUBLISHED is not None)
    else:
        assert bool(problems) is (name in REFUSED), problems


def test_a_name_that_openai_s_document_lets_pass_is_refused_by_three_judges() -> None:
    """FC-50: ``form.save`` is valid in the published schema."""
    judges = {problem.partition(":")[0] for problem in problems_of(recorded("b01_dot_name"))}
    assert judges == {"overlay", "rules", "mistral-common"}


def test_all_objections_are_told_at_once() -> None:
    body = recorded("a02_auto") | {"messages": [{"role": "assistant", "content": None}, {"role": "tool"}]}
    with pytest.raises(RequestRefusedError) as caught:
        check_request(body)
    assert len(str(caught.value).splitlines()) > 1


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(RequestRefusedError, match="json"):
        check_request({"model": "m", "messages": [{"role": "user", "content": {1, 2}}]})
