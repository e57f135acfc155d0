"""Random histories of submit, status, abandon, resolve, settle, crash, restart, clock: only what the table allows."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agentic_qt.commands.command_type import Effect
from agentic_qt.commands.errors import EffectUnknown
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.states import TRANSITIONS, CommandState
from agentic_qt.commands.values import Actor, Command, CommandResult, CommandStatus
from agentic_qt.core.errors import CapabilityError
from tests.support.command_kit import ANN, BOB, CHIEF, Inspector, add_entry, make_service, schema

IDS = [f"{kind}-{number}" for kind in ("entry", "file") for number in range(2)]
ids = st.sampled_from(IDS)
actors = st.sampled_from([ANN, BOB])
variants = st.sampled_from(["", "other"])


class Crash(BaseException):
    """Ends the coroutine that executes, as the end of a process does."""


class Commands(RuleBasedStateMachine):
    """One store, one process at a time, and a model of what must be true."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name) / 'store.sqlite3'}"
        self.loop = asyncio.new_event_loop()
        self.now = 1000.0
        self.how = "ok"
        self.fault = ""
        self.payments: dict[str, int] = {}
        self.final: dict[str, bytes] = {}
        self.states: dict[str, CommandState] = {}
        self.inspector = Inspector(self.url)
        self.service: CommandService | None = None

    @initialize()
    def begin(self) -> None:
        self.service = self._make()
        self._run(self.service.start())

    def _make(self) -> CommandService:
        def faults(label: str) -> None:
            if label == self.fault:
                raise RuntimeError(label)

        service = make_service(self.url, clock=lambda: self.now, faults=faults, wait=0.0)
        declare = service.effect(
            "file.append", schema=schema(x={"type": "string"}), permission=None, resolve=self._look
        )
        declare(self._pay)
        return service

    async def _pay(self, effect: Effect) -> dict[str, Any]:
        if self.how in ("ok", "crash_after", "unknown_after"):
            self.payments[effect.command_id] = self.payments.get(effect.command_id, 0) + 1
        if self.how.startswith("crash"):
            raise Crash
        if self.how.startswith("unknown"):
            raise EffectUnknown
        if self.how == "failed":
            raise CapabilityError("no")
        return {"paid": True}

    async def _look(self, effect: Effect) -> dict[str, Any]:
        if effect.command_id not in self.payments:
            raise CapabilityError("not_paid")
        return {"paid": True}

    def _run(self, coroutine: Any) -> Any:
        return self.loop.run_until_complete(coroutine)

    def _command(self, command_id: str, variant: str) -> Command:
        if command_id.startswith("entry"):
            return add_entry(command_id + variant, command_id)
        return Command.of("file.append", {"x": variant}, command_id=command_id)

    @rule(
        command_id=ids,
        actor=actors,
        variant=variants,
        how=st.sampled_from(["ok", "failed", "unknown", "unknown_after", "crash", "crash_after"]),
        fault=st.sampled_from(["", "", "", "claimed", "effect", "audit", "before_commit", "committed"]),
    )
    def submit(self, command_id: str, actor: Actor, variant: str, how: str, fault: str) -> None:
        self.how, self.fault = how, fault
        try:
            result = self._run(self.service.submit(self._command(command_id, variant), actor))
            self._note(command_id, result)
        except Crash:
            self._restart()
        self.fault = ""

    @rule(
        actor=actors,
        variant=variants,
        how=st.sampled_from(["ok", "failed", "unknown", "unknown_after"]),
        fault=st.sampled_from(["", "", "", "claimed", "effect", "audit", "before_commit", "committed"]),
    )
    def submit_all_at_once(self, actor: Actor, variant: str, how: str, fault: str) -> None:
        self.how, self.fault = how, fault

        async def submit() -> list[CommandResult]:
            return await asyncio.gather(*(self.service.submit(self._command(each, variant), actor) for each in IDS))

        for command_id, result in zip(IDS, self._run(submit()), strict=True):
            self._note(command_id, result)
        self.fault = ""

    @rule(command_id=ids)
    def settle(self, command_id: str) -> None:
        """An operator says the truth."""
        happened = command_id in self.payments
        self._note(command_id, self._run(self.service.settle(command_id, CHIEF, happened=happened, note="Seen.")))

    @rule(command_id=ids, actor=actors)
    def abandon(self, command_id: str, actor: Actor) -> None:
        self._note(command_id, self._run(self.service.abandon(command_id, actor)))

    @rule(command_id=ids)
    def status(self, command_id: str) -> None:
        result = self._run(self.service.status(command_id))
        self._note(command_id, result)
        assert (result.status is CommandStatus.NOT_FOUND) == (command_id not in self.inspector.results())

    @rule(command_id=ids, actor=actors)
    def resolve(self, command_id: str, actor: Actor) -> None:
        self._note(command_id, self._run(self.service.resolve(command_id, actor)))

    @rule()
    def restart(self) -> None:
        self._restart()

    @rule(seconds=st.sampled_from([1, 30, 66, 1000]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    def _restart(self) -> None:
        self._run(self.service.close())
        self.service = self._make()
        self._run(self.service.start())

    def _note(self, command_id: str, result: CommandResult) -> None:
        """A final answer is the answer for ever."""
        if result.status in (CommandStatus.SUCCEEDED, CommandStatus.FAILED):
            assert self.final.setdefault(command_id, result.encode()) == result.encode()

    @invariant()
    def the_store_tells_the_truth(self) -> None:
        if self.service is None:
            return
        self._check_transitions()
        self._check_effects()

    def _check_transitions(self) -> None:
        """States follow the table, two steps at most between two looks."""
        stored = dict(self.inspector.rows("SELECT command_id, state FROM agentic_command"))
        assert set(self.states) <= set(stored), "no command is ever forgotten"
        for command_id, name in stored.items():
            state = CommandState(name)
            before = self.states.get(command_id, CommandState.EXECUTING)
            path = {before} | TRANSITIONS[before] | {end for via in TRANSITIONS[before] for end in TRANSITIONS[via]}
            assert state in path, f"{command_id}: {before} -> {state}"
            self.states[command_id] = state

    def _check_effects(self) -> None:
        """Each effect happened at most once and is accounted for."""
        entries = self.inspector.entries()
        assert set(entries.values()) <= {1}
        assert set(self.payments.values()) <= {1}
        succeeded = {command_id for command_id, state in self.states.items() if state is CommandState.SUCCEEDED}
        assert {entry.removesuffix("other") for entry in entries} == {each for each in succeeded if each[0] == "e"}
        assert {each for each in succeeded if each[0] == "f"} <= set(self.payments)

    def teardown(self) -> None:
        if self.service is not None:
            self._run(self.service.close())
        self.loop.close()
        self.folder.cleanup()


TestCommands = Commands.TestCase
TestCommands.settings = settings(
    max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
