"""Whatever a provider says when it fails, the code and the remedy are right."""

import json
import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from agentic_qt.client.provider_errors import REMEDIES, error_from_body

DATA = Path(__file__).parents[1] / "data" / "llamacpp"
VECTORS = os.environ.get("AGENTIC_QT_VECTORS")
ABSENT = "recordings of other projects are not part of this one: set AGENTIC_QT_VECTORS to their folder"


RECORDED = {
    "error_auth_gemini.json": (400, "authentication"),
    "error_context_deepseek.json": (400, "context_length"),
    "error_context_ollama_cloud.json": (400, "context_length"),
    "error_context_openai.json": (400, "context_length"),
    "error_context_openrouter.json": (400, "context_length"),
    "error_groq_tool_use_failed.json": (400, "provider"),
    "error_openrouter.json": (429, "rate_limit"),
}
LLAMA_CPP = {
    "c04_choice_bogus": "bad_request",
    "d06_args_not_json": "bad_request",
    "d09_tool_content_dict": "bad_request",
    "d10_missing_type_in_call": "bad_request",
    "e03_bad_type": "bad_request",
    "e04_props_is_list": "bad_request",
    "e05_params_is_list": "bad_request",
    "e08_dangling_ref": "bad_request",
    "e11_tool_missing_type": "bad_request",
    "e12_responses_flat_tool": "bad_request",
    "f02_no_messages": "bad_request",
    "f06_context_overflow": "context_length",
}


def recorded_errors() -> list[Any]:
    if VECTORS is None:
        return [pytest.param("", id="absent", marks=pytest.mark.skip(reason=ABSENT))]
    return sorted(path.name for path in Path(VECTORS, "wire", "errors").glob("*.json"))


@pytest.mark.parametrize("file", recorded_errors())
def test_every_recorded_error_has_its_code(file: str) -> None:
    """FC-53, FC-55: whether the body came as text or as JSON, and inside a stream, where there is no status."""
    assert VECTORS is not None
    status, code = RECORDED[file]
    text = Path(VECTORS, "wire", "errors", file).read_text()
    for body in (text, json.loads(text)):
        for known in (status, None):
            failure = error_from_body(known, body)
            assert (failure.code, failure.remedy) == (code, REMEDIES[code])
            assert failure.message


def test_a_full_context_is_known_under_the_status_of_a_rate_limit_too() -> None:
    """FC-53."""
    body = error("This endpoint's maximum context length is 200000 tokens.", code=429)
    assert error_from_body(429, body).code == "context_length"


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(DATA.glob("*.response.json")) if "error" in json.loads(path.read_text())],
    ids=lambda path: path.name,
)
def test_every_error_of_llama_cpp_has_its_code(path: Path) -> None:
    """A request that the server cannot read is a bad request, also where it calls that its own failure (500)."""
    body = json.loads(path.read_text())
    assert error_from_body(body["error"]["code"], body).code == LLAMA_CPP[path.name.removesuffix(".response.json")]


def error(message: str = "", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, error("Incorrect API key provided", code="invalid_api_key"), "authentication"),
        (401, "", "authentication"),
        (401, {"error": {"message": "User not found.", "code": 401}}, "authentication"),
        (402, error("Insufficient credits"), "permission"),
        (403, error("You may not use this"), "permission"),
        (404, error("The model `gpt-9` does not exist", code="model_not_found"), "model_not_found"),
        (404, {"error": "model 'qwen9' not found"}, "model_not_found"),
        (400, error("Model Not Exist"), "model_not_found"),
        (404, "404 page not found", "bad_request"),
        (404, error("No endpoints found that support tool use."), "no_tool_support"),
        (400, {"error": "registry.ollama.ai/library/gemma does not support tools"}, "no_tool_support"),
        (500, error("tools param requires --jinja flag", code=500), "no_tool_support"),
        (400, error('"auto" tool choice requires --enable-auto-tool-choice'), "no_tool_support"),
        (429, error("Rate limit reached for tokens per min (TPM): Limit 30000"), "rate_limit"),
        (429, error("Request too large for tokens per min (TPM): Limit 6000"), "context_length"),
        (413, error("Request too large, please reduce your message size"), "context_length"),
        (429, error("You exceeded your current quota", code="insufficient_quota"), "rate_limit"),
        (429, "slow down", "rate_limit"),
        (
            400,
            error("The input token count (9) exceeds the maximum number of tokens allowed"),
            "context_length",
        ),
        (400, error("Your request exceeded model token limit: 8192"), "context_length"),
        (400, error("Range of input length should be [1, 30720]"), "context_length"),
        (400, error("This model's maximum prompt length is 131072 but the request contains 9"), "context_length"),
        (422, error("`inputs` tokens + `max_new_tokens` must be <= 8193."), "context_length"),
        (422, error("Input validation error: `inputs` must have less than 4096 tokens."), "context_length"),
        (413, "<html><title>413 Request Entity Too Large</title></html>", "context_length"),
        (429, error("Tokens per minute limit exceeded - too many tokens processed."), "rate_limit"),
        (400, error("`tool calling` is not supported with this model"), "no_tool_support"),
        (400, error("Unrecognized request argument supplied: tools"), "no_tool_support"),
        (
            422,
            {"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]},
            "no_tool_support",
        ),
        (400, {"object": "error", "message": "Invalid model: x", "type": "invalid_model"}, "model_not_found"),
        (404, error("No endpoints found for some/model."), "model_not_found"),
        (404, error("No models loaded. Please load a model"), "model_not_found"),
        (404, error("The API deployment is not there.", code="DeploymentNotFound"), "model_not_found"),
        (404, error("model: some-model", type="not_found_error"), "model_not_found"),
        (400, error("filtered", code="content_filter"), "content_filter"),
        (400, error("triggering the content management policy"), "content_filter"),
        (408, "", "timeout"),
        (504, "<html><title>504 Gateway Time-out</title></html>", "timeout"),
        (502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", "server"),
        (503, error("Loading model", code=503), "server"),
        (529, error("Overloaded", type="overloaded_error"), "server"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
        (400, {"object": "error", "message": "bad"}, "bad_request"),
        (400, [error("API key not valid. Please pass a valid API key.", code=400)], "authentication"),
        (None, error("no", code=503), "server"),
        (None, error("no", code="429"), "rate_limit"),
        (None, error("no", type="invalid_request_error"), "bad_request"),
        (None, {"error": "gone"}, "provider"),
        (None, {}, "provider"),
        (400, None, "bad_request"),
        (400, {"error": {"message": {"detail": "odd"}}}, "bad_request"),
    ],
)
def test_codes_by_words_and_status(status: int | None, body: Any, code: str) -> None:
    """FC-52, FC-53: numbers, words, strings, lists, HTML and nothing at all."""
    assert error_from_body(status, body).code == code


def test_a_billing_problem_names_the_account() -> None:
    assert "credit" in error_from_body(429, error("over quota", code="insufficient_quota")).remedy


def test_a_page_is_told_by_its_title_and_long_words_are_shortened() -> None:
    page = "<html><head><title>502 Bad\n Gateway</title></head><body>" + "x" * 9000 + "</body></html>"
    assert error_from_body(502, page).message == "502 Bad Gateway"
    assert len(error_from_body(500, error("word " * 900)).message) == 300


def test_what_stood_behind_an_aggregator_is_told() -> None:
    body = error("Provider returned error", metadata={"raw": "rate-limited upstream"})
    assert error_from_body(429, body).message == "Provider returned error: rate-limited upstream"


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "20"}, "", 20.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, "", 0.25),
        ({"retry-after": "-3"}, "", 0.0),
        ({"retry-after": "soon"}, "", None),
        ({}, "Please try again in 7.66s.", 7.66),
        ({}, "Please try again in 1m2s", 62.0),
        ({}, "try again in 20ms", 0.02),
        ({}, "Please retry after 24 seconds.", 24.0),
        ({}, "Please retry in 3.2s.", 3.2),
        ({}, "try again later", None),
    ],
)
def test_how_long_to_wait_is_read(headers: dict[str, str], message: str, seconds: float | None) -> None:
    assert error_from_body(429, error(message), headers=headers).retry_after == seconds


def test_a_delay_among_the_details_is_read() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "23.5s"}]
    assert error_from_body(429, error("quota", status="RESOURCE_EXHAUSTED", details=details)).retry_after == 23.5


def test_a_date_to_wait_for_is_read() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    waiting = error_from_body(429, error(), headers={"retry-after": when}).retry_after
    assert waiting is not None
    assert 80 < waiting <= 90
