"""Random conversations through the real agent, and every request of them judged as providers would judge it.

The suite plays 500 of them; ``python -m tests.soak.histories --count 10000`` plays as many as are asked for. A chat
model that does everything wrong, a person who stops, interrupts, edits and goes back, a catalogue that changes while
an answer is on its way: whatever happens, no request may be one that a provider refuses.
"""

import argparse
import asyncio
import itertools
import json
import logging
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agentic_qt.client.agent import Agent
from agentic_qt.client.budgets import Budgets
from agentic_qt.client.chat_model import ChatModelError, Delta, ToolCallDelta, Usage
from agentic_qt.client.events import RunStarted
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.capability import Target
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.messages import ToolCall
from agentic_qt.testing import ScriptedModel
from tests.support.agent_kit import capability
from tests.support.request_checks import problems_of

MOST_TURNS = 5
PROPERTIES = {"n": {"type": "integer"}, "text": {"type": "string"}}
NAMES = ("item.read", "item.write", "item.drop", "item.long", "item.fail", "löschen.jetzt", "x" * 90)
TEXTS = st.sampled_from(["Hi", "", "Set it to ü.", "设置", "half \ud83d", "line\nbreak", "Summary of it"])

wire_names = st.sampled_from(
    [
        *("item_read", "item_write", "item_drop", "item_long", "item_fail", "item.read", "nothing", ""),
        *("agent_read_more", "agent_execute", "agent_search_capabilities", "renamed_item", "__class__"),
        *("y" * 80, "sch\u00f6n"),
    ]
)
arguments = st.sampled_from(
    [
        *("", "{}", '{"n":1}', '{"n":"x"}', '{"text":"a"}', '{"n":', "[1]", "null", '{"n":NaN}'),
        *('{"_target":"b","n":2}', '{"name":"item.write","revision":3,"input":{"n":1}}'),
        *('{"query":"write"}', '{"handle":"r","offset":0}'),
    ]
)
call_ids = st.sampled_from(["a", "b", "", "null", "c" * 64, "call_1", "ü"])
calls = st.builds(
    ToolCall,
    id=call_ids,
    name=wire_names,
    arguments=arguments,
    extra=st.sampled_from([{}, {"extra_content": {"signature": "s"}}]),
)
usages = st.one_of(st.none(), st.builds(Usage, input_tokens=st.integers(0, 5000), output_tokens=st.integers(0, 50)))
raw = st.one_of(
    st.builds(
        Delta, text=TEXTS, reasoning=TEXTS, usage=usages, extra=st.sampled_from([{}, {"reasoning_content": "r"}])
    ),
    st.builds(
        lambda index, call_id, name, text: Delta(
            tool_calls=(ToolCallDelta(index=index, id=call_id, name=name, arguments=text),)
        ),
        st.sampled_from([None, 0, 1]),
        st.one_of(st.none(), call_ids),
        st.one_of(st.none(), wire_names),
        st.one_of(st.none(), arguments),
    ),
    st.builds(Delta, finish_reason=st.sampled_from(["stop", "length", "content_filter", "tool_calls"])),
    st.just(Delta(done=True)),
    st.just(Delta(error=ChatModelError("provider", "in the stream"))),
)
errors = st.sampled_from([ChatModelError("context_length", "full"), ChatModelError("rate_limit", "slow")])
good_calls = st.builds(
    ToolCall,
    id=call_ids,
    name=st.sampled_from(["item_read", "item_write", "item_drop", "item_long"]),
    arguments=st.sampled_from(['{"n":1}', '{"n":2}', '{"text":"a"}']),
)
turns = st.one_of(
    st.lists(st.one_of(TEXTS, calls), min_size=1, max_size=4),
    st.lists(calls, min_size=1, max_size=3),
    st.lists(st.one_of(good_calls, calls), min_size=1, max_size=4),
    st.lists(good_calls, min_size=1, max_size=3),
    st.lists(raw, min_size=1, max_size=5),
    st.builds(lambda pieces, error: [*pieces, error], st.lists(TEXTS, max_size=1), errors),
)
changes = st.sampled_from(["dispose", "suspend", "resume", "rename", "schema", "mount", "target", "none", "none"])


def _stored(call_id: Any, name: Any, text: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


restored = st.lists(
    st.one_of(
        st.builds(lambda text: {"role": "user", "content": text}, st.sampled_from(["Before", ""])),
        st.builds(lambda text: {"role": "assistant", "content": text}, st.sampled_from(["Yes.", None])),
        st.builds(
            lambda found: {"role": "assistant", "content": None, "tool_calls": found},
            st.lists(st.builds(_stored, call_ids, wire_names, arguments), max_size=3),
        ),
        st.builds(lambda call_id: {"role": "tool", "tool_call_id": call_id, "content": "r"}, call_ids),
    ),
    max_size=5,
)
disturbances = st.one_of(
    st.none(), st.tuples(st.sampled_from(["stop", "interject", "cancel", "new_thread"]), st.integers(0, 12))
)
actions = st.one_of(
    st.tuples(st.sampled_from(["run", "run", "run", "retry", "edit", "compact", "switch", "clear"]), disturbances),
    st.tuples(st.just("restore"), restored),
)


@dataclass
class Scenario:
    """One random conversation, drawn as a whole."""

    turns: list[Any]
    changes: list[str]
    actions: list[Any]
    decisions: list[str]
    mode: str
    window: int | None
    context: bool
    instructions: str
    budgets: Budgets


scenarios = st.builds(
    Scenario,
    turns=st.lists(turns, min_size=1, max_size=6),
    changes=st.lists(changes, min_size=1, max_size=6),
    actions=st.lists(actions, min_size=2, max_size=6),
    decisions=st.lists(st.sampled_from(["approve", "deny", "interject", "stop"]), min_size=1, max_size=4),
    mode=st.sampled_from(["all", "meta", "narrow", "auto"]),
    window=st.sampled_from([None, 300, 1500, 9000]),
    context=st.booleans(),
    instructions=st.sampled_from(["", "Be brief."]),
    budgets=st.sampled_from(
        [Budgets(turns=3), Budgets(turns=MOST_TURNS, calls=3), Budgets(turns=4, writes=1), Budgets(turns=4, tokens=900)]
    ),
)


@dataclass
class Stage:
    """A registry whose catalogue changes, with somebody who decides in turn."""

    scenario: Scenario
    registry: Registry = field(default_factory=Registry)
    held: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = itertools.count()
        self.changes = itertools.cycle(self.scenario.changes)
        self.decisions = itertools.cycle(self.scenario.decisions)
        handlers = {"item.long": lambda **_: "long \u00fc" * 6000, "item.fail": lambda **_: 1 / 0}
        risks = {"item.write": "mutating", "item.drop": "destructive"}
        for name in NAMES:
            handler = handlers.get(name, lambda **given: given)
            self.mount(name, handler, risks.get(name, "read"))
        self.registry.approvals.attach(self.decide)
        self.model = ScriptedModel(
            [self.answer(turn) for turn in itertools.islice(itertools.cycle(self.scenario.turns), 60)]
        )
        self.agent = Agent(
            self.registry,
            self.model,
            instructions=self.scenario.instructions,
            budgets=self.scenario.budgets,
            context_window=self.scenario.window,
            mode=self.scenario.mode,
        )
        if self.scenario.context:
            self.agent.context("selection", lambda: {"rows": [1, 2]}, description="What is selected")

    def mount(self, name: str, handler: Any, risk: str, target: Target | None = None) -> None:
        declared = capability(name, handler, risk=risk, properties=PROPERTIES, target=target)
        self.held.append(self.registry.register(declared))

    def answer(self, turn: Any) -> Any:
        def play(messages: Any) -> Any:
            self.change(next(self.changes))
            asked_to_summarise = messages[0]["content"].startswith("You summarise")
            return "A summary." if asked_to_summarise else turn

        return play

    def change(self, kind: str) -> None:
        """Change the catalogue while an answer is on its way."""
        number = next(self.numbers)
        living = [registration for registration in self.held if not registration.disposed]
        one = living[number % len(living)] if living else None
        if kind == "mount":
            self.mount(f"new.item{number}", lambda **given: given, "mutating")
        elif kind == "target":
            for target in ("b", "c"):
                self.mount(f"many.item{number}", lambda **given: given, "read", Target(id=target))
        elif one is None or kind == "none":
            return
        elif kind == "rename":
            self.held.append(one.replace(name=f"renamed.item{number}"))
        elif kind == "schema":
            self.held.append(one.replace(handler=lambda **_: None))
        else:
            getattr(one, kind)()

    def decide(self, event: Any) -> None:
        if event.change is not ApprovalChange.ADDED:
            return
        decision = next(self.decisions)
        if decision in ("approve", "deny"):
            getattr(self.registry.approvals, decision)(event.request)
        elif decision == "interject":
            asyncio.get_running_loop().call_soon(self.agent.interject, "Wait, something else.")
        else:
            asyncio.get_running_loop().call_soon(self.agent.stop)

    async def play(self) -> None:
        for kind, detail in self.scenario.actions:
            if kind == "restore":
                self.agent.messages.extend(detail)
            else:
                await self.act(kind, detail)
        self.agent.close()
        self.registry.close()

    async def act(self, kind: str, disturbance: Any) -> None:
        agent = self.agent
        forget = agent.observe(self.disturbing(disturbance)) if disturbance else lambda: None
        users = [place for place, message in enumerate(agent.messages) if message.get("role") == "user"]
        if kind == "run":
            await agent.run("Do it")
        elif kind == "edit" and users:
            with_summary = [place for place in users if not str(agent.messages[place]["content"]).startswith("Summary")]
            if with_summary:
                await agent.edit(with_summary[0], "Do something else")
        elif kind == "switch":
            thread = agent.threads[0]
            agent.switch(thread, thread.branches[0])
        elif kind == "clear":
            agent.clear()
        elif kind in ("retry", "compact"):
            await getattr(agent, kind)()
        forget()

    def disturbing(self, disturbance: Any) -> Any:
        what, when = disturbance
        count = itertools.count()

        def disturb(event: Any) -> None:
            if isinstance(event, RunStarted) or next(count) != when:
                return
            if what == "interject":
                self.agent.interject("And one more thing.")
            elif what == "cancel":
                self.agent.cancel_call(getattr(event, "call_id", ""))
            else:
                getattr(self.agent, what)()

        return disturb


def play(scenario: Scenario) -> int:
    """Play one conversation; returns how many requests were sent, each of them acceptable."""

    async def played() -> Stage:
        stage = Stage(scenario)
        await asyncio.wait_for(stage.play(), 20)
        return stage

    stage = asyncio.run(played())
    for request in stage.model.requests:
        body: dict[str, Any] = {"model": "m", "messages": request.messages, "stream": True}
        if request.tools:
            body["tools"] = request.tools
        problems = list(problems_of(body))
        assert not problems, "\n".join([*problems, json.dumps(request.messages, ensure_ascii=False, default=repr)])
    return len(stage.model.requests)


def main() -> int:
    """Play many and print how many requests were refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many conversations")
    count = parser.parse_args().count
    logging.disable(logging.CRITICAL)
    totals = {"histories": 0, "requests": 0}

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios)
    def all_accepted(scenario: Scenario) -> None:
        totals["requests"] += play(scenario)
        totals["histories"] += 1

    begun = time.monotonic()
    try:
        all_accepted()
    except AssertionError as refused:
        sys.stderr.write("\n".join([f"refused: {refused}", *getattr(refused, "__notes__", ()), ""]))
        return 1
    took = time.monotonic() - begun
    sys.stdout.write(f"{totals['histories']} histories, {totals['requests']} requests, 0 invalid, {took:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
