"""Every probe of the browser's behaviour has one home: a table, a test of its own, or a reason why it has no twin."""

import ast
import re
from collections import Counter
from pathlib import Path

from tests.qt.forms import test_answer_probes as answers
from tests.qt.forms import test_probes as fills
from tests.qt.forms import test_submit_probes as submissions
from tests.support.form_probes import FILL_PROBES, PROBES, cases

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

NO_FRAMES = "a window has no frames with origins of their own"
NO_PAGES = "a submission does not replace the form by a page whose content is the result"

NO_QT_MEANING = {
    "permissions_policy_none": "no header forbids tools; without an assistant there are none: "
    "tests/qt/forms/test_exposing.py::test_without_the_library_the_properties_are_inert",
    "iframe_same_origin": NO_FRAMES,
    "iframe_same_origin_noldjson": NO_FRAMES,
    "iframe_removed_while_pending": "the nearest is a form that is deleted: "
    "tests/qt/forms/test_review_ends.py::test_a_form_that_goes_away_cancels_the_call",
    "iframe_navigated_while_pending": "the nearest is a form that is closed: "
    "tests/qt/forms/test_review_ends.py::test_a_form_that_goes_away_cancels_the_call",
    "cross_origin_iframe": NO_FRAMES,
    "two_frames_same_name": "the nearest is two forms of one name: "
    "tests/qt/forms/test_exposing.py::test_forms_of_one_name_are_told_apart_by_target",
    "form_submit_method": "nothing submits past the button, and code cannot press it: "
    "tests/qt/forms/test_review.py::test_code_cannot_press_submit_for_the_person",
    "cdp_navigation_ldjson": NO_PAGES,
    "cdp_navigation_manual": NO_PAGES,
    "imp_register_errors": "registered in code, without a form: "
    "tests/core/test_registry.py::test_a_malformed_declaration_is_refused_with_the_reason",
    "imp_results": "a handler without a form: "
    "tests/core/test_running.py::test_the_result_is_plain_json_that_shares_nothing_with_the_application",
    "imp_input_validation": "without a form; the browser does not check, the core does: "
    "tests/core/test_route.py::test_invalid_input_names_every_place_and_what_was_expected",
    "imp_execute_arguments": "a handler without a form: "
    "tests/core/test_running.py::test_a_handler_gets_the_context_when_it_asks_for_it",
    "imp_abort": "a handler without a form: "
    "tests/core/test_running.py::test_a_running_handler_that_is_stopped_ends_and_says_what_was_applied",
    "imp_unregister_during": "a registration without a form: "
    "tests/core/test_registry.py::test_a_registration_is_in_the_catalogue_until_it_is_disposed",
    "imp_concurrent": "a handler without a form: tests/core/test_running.py::test_reads_run_together",
    "imp_resolve_after_page_gone": "a handler without a form, and how long it may take: "
    "tests/core/test_running.py::test_a_read_that_takes_too_long_fails_and_may_be_tried_later",
}
"""Probe -> why no form of Qt can show it, and the test that shows the nearest thing, where there is one."""

TABLES = {
    "fill": [probe for probe in FILL_PROBES if cases(probe)],  # the others have tests of their own
    "submission as in the browser": submissions.SAME,
    "submission otherwise": submissions.DEVIATIONS,
    "answer as in the browser": answers.SAME,
    "answer otherwise": answers.DEVIATIONS,
    "no meaning": NO_QT_MEANING,
}


def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [function for function in functions if function.name.startswith("test_")]


def probes_of(function):
    """The ids that a test names in its docstring, between "Probe" and the next mark."""
    found = re.search(r"\bProbes? ([^:;.]*)", ast.get_docstring(function) or "")
    return set(re.findall(r"\w+", found[1])) - {"and"} if found else set()


def own_tests():
    """The probes that tests of their own name."""
    return set().union(*(probes_of(test) for path in HERE.glob("test_*.py") for test in functions_of(path)))


def test_every_probe_has_one_home():
    """A test that says more of a probe that stands in a table is welcome."""
    homes = Counter(probe for table in TABLES.values() for probe in table)
    assert {probe: count for probe, count in homes.items() if count > 1} == {}
    homeless = PROBES.keys() - homes.keys() - own_tests()
    assert homeless == set()


def test_no_home_is_for_a_probe_that_is_none():
    assert {name: set(table) - PROBES.keys() for name, table in TABLES.items() if set(table) - PROBES.keys()} == {}
    assert own_tests() - PROBES.keys() == set()
    assert fills.DEVIATIONS.keys() - set(FILL_PROBES) == set()


def test_what_has_no_meaning_is_tested_nowhere_and_its_nearest_test_exists():
    assert NO_QT_MEANING.keys() & own_tests() == set()
    for reason in NO_QT_MEANING.values():
        for path, name in re.findall(r"(tests/\S+\.py)::(\w+)", reason):
            assert name in {test.name for test in functions_of(ROOT / path)}, reason
