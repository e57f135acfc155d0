"""Any order of events, drawn at random: nothing risky ever runs unasked, and every call ends once."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentic_qt import ApprovalQueue, DeclarationError, Registry, Target
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.policy import Decision, Policy
from tests.support.declare import TEXT, call, declare

RISKS = st.sampled_from(["read", "mutating", "destructive"])
NAMES = st.sampled_from(["a.x", "b.x"])
TARGETS = st.sampled_from(["t", "u"])
TEXTS = st.sampled_from(["one", "two"])
RUNS = st.sampled_from([None, "r"])
ANSWERS = ["once", "once", "digest", "run", "session", "session", "deny", "edit"]
EXPIRY = 100.0


class RegistryMachine(RuleBasedStateMachine):
    """A registry, a clock of its own, a person and a model, all of them fickle."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.now = 1000.0
        self.rule: Decision | None = None
        self.world = 0
        self.registry = Registry(
            approvals=ApprovalQueue(expiry=EXPIRY, clock=lambda: self.now),
            policy=Policy(rule=lambda asked, capability: self.rule),
            clock=lambda: self.now,
        )
        self.registry.bind(self.loop)
        self.registry._pipeline._lane.patience = 5.0
        self.living: list[Any] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.blocked: list[asyncio.Event] = []
        self.yes: dict[str, float] = {}  # by call id: until when the person's yes for it is good
        self.ends: dict[str, int] = {}
        self.started: dict[str, int] = {}
        self.broken: list[AssertionError] = []
        self.calls = 0
        self.revisions: list[int] = []
        self.registry.approvals.attach(self.on_request)
        self.registry.audit(self.on_audit)
        self.registry.observe(lambda change: self.revisions.append(change.revision))
        self.turn()

    def turn(self, times: int = 8) -> None:
        async def some() -> None:
            for _ in range(times):
                await asyncio.sleep(0)

        self.loop.run_until_complete(some())

    def on_request(self, event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.SETTLED and event.approval.granted:
            assert event.approval.digest == event.request.digest
            self.yes[event.request.call_id] = event.approval.expires_at

    def on_audit(self, event: Any) -> None:
        if event.kind.value in ("executed", "rejected"):
            self.ends[event.call_id] = self.ends.get(event.call_id, 0) + 1

    def handle(self, registration_of: list[Any], blocks: bool, text: str, ctx: Any) -> Any:
        """The handler of every capability: the promise is checked where it matters."""
        try:
            self.check_promise(registration_of[0], text, ctx)
        except AssertionError as broken:  # it would become an outcome
            self.broken.append(broken)
        if not blocks:
            return text
        gate = asyncio.Event()
        self.blocked.append(gate)
        return gate.wait()

    def check_promise(self, registration: Any, text: str, ctx: Any) -> None:
        self.started[ctx.call_id] = self.started.get(ctx.call_id, 0) + 1
        assert not registration.disposed
        assert not registration.suspended
        assert self.registry.find(registration.name, registration.target_id) is registration
        flight = self.registry._pipeline.ledger.find(ctx.call_id, ctx.client, ctx.run)
        assert flight.digest == "" or f'"text":"{text}"' in flight.payload.decode()
        if registration.declared.risk != "read" and self.rule is not Decision.ALLOW:
            asked = self.yes.get(ctx.call_id, 0.0) > self.now
            granted = any(
                grant.registration is registration
                and grant.client == ctx.client
                and (grant.scope != "digest" or grant.digest == flight.digest)
                and (grant.scope != "run" or grant.run == ctx.run)
                for grant in self.registry.approvals.grants
            )
            assert asked or (granted and registration.declared.risk != "destructive")

    def declaration(self, name: str, place: str, risk: str, blocks: bool, previews: bool, nested: bool) -> Any:
        holder: list[Any] = []
        capability = declare(
            name,
            input_schema=TEXT,
            risk=risk,
            target=Target(id=place),
            handler=lambda text, ctx: self.handle(holder, blocks, text, ctx),
            preview=(lambda text: self.world) if previews else None,
            nested=nested,
        )
        return holder, capability

    @rule(name=NAMES, place=TARGETS, risk=RISKS, blocks=st.booleans(), previews=st.booleans(), nested=st.booleans())
    def register(self, **fields: Any) -> None:
        holder, capability = self.declaration(**fields)
        try:
            registration = self.registry.register(capability)
        except DeclarationError:
            return
        holder.append(registration)
        self.living.append(registration)

    @precondition(lambda self: self.living)
    @rule(data=st.data(), name=NAMES, place=TARGETS, risk=RISKS, blocks=st.booleans(), previews=st.booleans())
    def replace(self, data: Any, **fields: Any) -> None:
        old = data.draw(st.sampled_from(self.living))
        holder, capability = self.declaration(**fields, nested=False)
        try:
            successor = old.replace(capability)
        except DeclarationError:
            return
        holder.append(successor)
        self.living[self.living.index(old)] = successor

    @precondition(lambda self: self.living)
    @rule(data=st.data(), how=st.sampled_from(["suspend", "resume", "resume", "resume", "dispose"]))
    def change(self, data: Any, how: str) -> None:
        registration = data.draw(st.sampled_from(self.living))
        getattr(registration, how)()
        if how == "dispose":
            self.living.remove(registration)

    @initialize(
        risks=st.lists(RISKS, min_size=3, max_size=3),
        blocks=st.lists(st.booleans(), min_size=3, max_size=3),
        previews=st.booleans(),
    )
    def begin(self, risks: list[str], blocks: list[bool], previews: bool) -> None:
        for (name, place), risk, block in zip([("a.x", "t"), ("a.x", "u"), ("b.x", "t")], risks, blocks, strict=True):
            self.register(name=name, place=place, risk=risk, blocks=block, previews=previews, nested=block)

    @precondition(lambda self: self.living)
    @rule(
        data=st.data(),
        text=TEXTS,
        run=RUNS,
        back=st.sampled_from([0, 0, 0, 1]),
        names_target=st.sampled_from([1, 1, 1, 0]),
    )
    def execute(self, data: Any, text: str, run: str | None, back: int, names_target: int) -> None:
        meant = data.draw(st.sampled_from(self.living))
        self.calls += 1
        given = {"text": text}
        asked = call(
            meant.name,
            input=given,
            target_id=meant.target_id if names_target else None,
            revision=max(0, self.registry.revision - back),
            id=f"c{self.calls}",
            run=run,
            client=["k", "l"][self.calls % 3 == 0],
        )
        self.tasks.append(self.loop.create_task(self.registry.execute(asked)))
        self.turn()
        given["text"] = "evil"

    @precondition(lambda self: self.living)
    @rule(data=st.data(), text=TEXTS, run=RUNS, answer=st.sampled_from(ANSWERS[:6]), waits=st.booleans())
    def execute_and_approve(self, data: Any, text: str, run: str | None, answer: str, waits: bool) -> None:
        """The usual way; it may leave the call where it is just before its handler starts."""
        self.execute(data, text, run, 0, 1)
        for request in self.registry.approvals.pending[-1:]:
            self.registry.approvals.approve(request, scope=answer if answer in request.scopes else "once")
        if not waits:
            self.turn()

    @precondition(lambda self: self.living)
    @rule(data=st.data(), text=TEXTS, run=RUNS)
    def execute_again(self, data: Any, text: str, run: str | None) -> None:
        self.execute(data, text, run, 0, 1)

    @precondition(lambda self: self.registry.approvals.pending)
    @rule(data=st.data(), answer=st.sampled_from(ANSWERS), text=TEXTS)
    def decide(self, data: Any, answer: str, text: str) -> None:
        request = data.draw(st.sampled_from(self.registry.approvals.pending))
        if answer == "deny":
            self.registry.approvals.deny(request)
        elif answer == "edit":
            self.registry.approvals.edit(request, {"text": text})
        else:
            scope = answer if answer in request.scopes else "once"
            self.registry.approvals.approve(request, scope=scope)

    @rule(number=st.integers(1, 30), client=st.sampled_from(["k", "l"]), run=st.sampled_from([None, "r"]))
    def stop(self, number: int, client: str, run: str | None) -> None:
        self.registry.cancel(f"c{number}", client=client, run=run)

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def cancel_caller(self, data: Any) -> None:
        data.draw(st.sampled_from(self.tasks)).cancel()

    @precondition(lambda self: self.blocked)
    @rule()
    def release(self) -> None:
        self.blocked.pop(0).set()

    @rule(seconds=st.sampled_from([1.0, EXPIRY / 2, EXPIRY]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(decision=st.sampled_from([None, None, None, Decision.ALLOW, Decision.ASK, Decision.DENY]))
    def set_rule(self, decision: Decision | None) -> None:
        self.rule = decision

    @rule()
    def move_the_world(self) -> None:
        self.world += 1

    @precondition(lambda self: len(self.registry.approvals.grants))
    @rule(data=st.data())
    def revoke(self, data: Any) -> None:
        self.registry.approvals.grants.revoke(
            data.draw(st.sampled_from([g.id for g in self.registry.approvals.grants]))
        )

    @rule()
    def end_run(self) -> None:
        self.registry.end_run("r")

    @rule()
    def let_time_pass(self) -> None:
        self.turn()

    @invariant()
    def every_promise_was_kept(self) -> None:
        assert not self.broken, self.broken

    @invariant()
    def revisions_rise(self) -> None:
        assert self.revisions == list(range(1, self.registry.revision + 1))

    @invariant()
    def nothing_runs_or_ends_twice(self) -> None:
        assert all(count == 1 for count in self.started.values())
        assert all(count == 1 for count in self.ends.values())

    @invariant()
    def only_living_registrations_hold_grants(self) -> None:
        assert all(not grant.registration.disposed for grant in self.registry.approvals.grants)

    def teardown(self) -> None:
        async def finish() -> list[Any]:
            self.registry.close()
            return await asyncio.wait_for(asyncio.gather(*self.tasks, return_exceptions=True), 5)

        try:
            for outcome in self.loop.run_until_complete(finish()):
                assert isinstance(outcome, asyncio.CancelledError) or outcome.status
                assert not isinstance(outcome, AssertionError)
            assert not self.registry._pipeline._open
            assert self.registry._pipeline._lane.holder is None
            assert not self.registry.approvals.pending
            assert len(self.ends) == self.calls
            assert not self.broken, self.broken
        finally:
            self.loop.close()


RegistryMachine.TestCase.settings = settings(
    max_examples=100,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestRegistry = RegistryMachine.TestCase
