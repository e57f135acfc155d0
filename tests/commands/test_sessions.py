"""Several windows on one store: what a living one asks and does is left to it, however the others come and go."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.http import create_app
from agentic_qt.commands.recovery import Leftovers
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.serving import serving
from agentic_qt.commands.sessions import Sessions
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.tokens import Tokens, hash_token
from agentic_qt.commands.values import Command, Proposal
from agentic_qt.core.call import Call, Outcome, Status
from tests.support.command_kit import ANN, Inspector, lose_lock, make_service
from tests.support.desk_kit import Window, open_window
from tests.support.living_window import add_form

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def another_process(url: str) -> AsyncIterator["asyncio.subprocess.Process"]:
    """A process with a question open and a change under way; it is killed at the end, if it still lives."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.living_window", url,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 30) == b"ready\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(20):
        while not (found := await condition()):  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)
    return found


async def at_once(work: Callable[[], Any]) -> Any:
    return work()


async def ask(window: Window) -> "asyncio.Task[Outcome]":
    """Let a window ask and nobody answer."""
    window.answer = lambda request: None
    pending = asyncio.create_task(window.call("ledger.add", {"entry": "e"}))
    async with asyncio.timeout(10):
        while not window.asked:  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)
    return pending


async def leave(url: str) -> Proposal:
    """Leave a question of a session that is over."""
    async with make_service(url) as service:
        window = open_window(service)
        pending = await ask(window)
        window.registry.close()
        await pending
        await window.desk.close()
        return (await service.proposals.waiting())[0]


async def test_what_a_living_process_asks_and_does_is_left_to_it_until_it_is_killed(
    url: str, inspector: Inspector
) -> None:
    """FC-38, FC-24"""
    async with another_process(url) as process, make_service(url) as service:
        window = open_window(service)
        assert await window.recovery.look() == Leftovers()
        (proposal,) = await service.proposals.waiting()
        ((intent_id,),) = inspector.rows("SELECT intent_id FROM agentic_intent")
        for act in (window.recovery.resume, window.recovery.discard):
            with pytest.raises(CommandError, match="other_session"):
                await act(proposal.proposal_id)
        with pytest.raises(CommandError, match="no_intent"):
            await window.recovery.resolve_interrupted(intent_id, applied=True)
        process.kill()
        await process.wait()

        async def both() -> Leftovers | None:
            left = await window.recovery.look()
            return left if left.waiting and left.interrupted else None

        left = await until(both)  # a server takes a moment to see that the process is gone
        assert [each.proposal_id for each in left.waiting] == [proposal.proposal_id]
        assert [(each.intent_id, each.intent.name) for each in left.interrupted] == [(intent_id, "form.save")]
        assert (await window.recovery.resume(proposal.proposal_id)).status is Status.OK
        await window.recovery.resolve_interrupted(intent_id, applied=False)
        assert await window.recovery.look() == Leftovers()
    assert inspector.entries() == {"delete 1": 1}


async def test_a_process_that_ends_by_itself_leaves_its_question_too(url: str) -> None:
    async with another_process(url) as process, make_service(url) as service:
        window = open_window(service)
        assert await window.recovery.look() == Leftovers()
        await process.communicate(b"")
        assert len((await window.recovery.look()).waiting) == 1


async def test_the_lock_of_a_killed_process_is_removed_and_living_ones_are_not(sqlite_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "store.sqlite3-sessions"

    def locks() -> set[str]:
        return {path.stem for path in folder.iterdir()} if folder.exists() else set()

    async with another_process(sqlite_url) as process, make_service(sqlite_url) as service:
        await open_window(service).recovery.look()
        assert len(locks()) == 2
        process.kill()
        await process.wait()
        assert len(locks()) == 2
        await open_window(service).recovery.look()
        assert locks() == {service.sessions.own}
    assert not folder.exists()


async def test_a_start_takes_the_locks_of_the_dead_away(sqlite_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "store.sqlite3-sessions"
    folder.mkdir()
    (folder / "dead.lock").touch()
    with FileLock(folder / "living.lock"):
        async with make_service(sqlite_url) as service:
            names = {path.name for path in folder.iterdir()}
            assert names == {"living.lock", f"{service.sessions.own}.lock"}
        assert folder.exists()


async def test_many_that_start_and_end_together_all_hold_their_locks(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each sweeps while the others begin, and takes the folder away when it believes to be the last."""
    store = make_service(sqlite_url).store
    everybody = [Sessions(store, at_once) for _ in range(8)]

    def live(session: Sessions) -> int:
        held = 0
        for _ in range(25):
            session.open()
            held += asyncio.run(everybody[0].ended([session.own])) == set() if session is not everybody[0] else 1
            session.close()
        return held

    lives = [asyncio.to_thread(live, session) for session in everybody]
    assert await asyncio.gather(*lives) == [25] * 8
    assert "cannot see" not in caplog.text
    assert "could not be given back" not in caplog.text


async def test_two_windows_of_one_process_leave_each_other_alone(url: str, inspector: Inspector) -> None:
    """FC-24: two windows on one service are one session."""
    async with make_service(url) as service:
        first, second = open_window(service), open_window(service)
        pending = await ask(first)
        (proposal,) = await service.proposals.waiting()
        assert await second.recovery.look() == Leftovers()
        for act in (second.recovery.resume, second.recovery.discard):
            with pytest.raises(CommandError, match="bad_transition"):
                await act(proposal.proposal_id)
        first.registry.close()
        await pending
        await first.desk.close()
        await first.desk.close()  # twice is as good as once
        (waiting,) = (await second.recovery.look()).waiting
        assert (await second.recovery.resume(waiting.proposal_id)).status is Status.OK
        await second.desk.close()
    assert inspector.entries() == {"e": 1}


async def test_of_two_windows_that_resume_the_same_one_gets_it(url: str, inspector: Inspector) -> None:
    """FC-24"""
    left = await leave(url)
    async with make_service(url) as one, make_service(url) as two:
        windows = [open_window(one), open_window(two)]
        ends = await asyncio.gather(
            *(window.recovery.resume(left.proposal_id) for window in windows), return_exceptions=True
        )
        assert [end.status for end in ends if isinstance(end, Outcome)] == [Status.OK]
        assert {end.code for end in ends if isinstance(end, CommandError)} <= {"bad_transition", "other_session"}
        assert sum(len(window.asked) for window in windows) == 1
    assert inspector.entries() == {"e": 1}


async def test_a_second_click_on_resume_asks_nobody_again(url: str, inspector: Inspector) -> None:
    """FC-24"""
    left = await leave(url)
    async with make_service(url) as service:
        window = open_window(service)
        ends = await asyncio.gather(
            *(window.recovery.resume(left.proposal_id) for _ in range(2)), return_exceptions=True
        )
        assert sorted(type(end).__name__ for end in ends) == ["CommandError", "Outcome"]
        assert len(window.asked) == 1
    assert inspector.entries() == {"e": 1}


async def test_giving_up_what_another_window_takes_up_this_very_moment_does_not_close_its_question(
    url: str, inspector: Inspector
) -> None:
    """FC-24: what is given up is the command that was approved before, not the one that is asked for now."""
    async with make_service(url) as service:
        waiting = CommandState.AWAITING_APPROVAL
        left = await service.proposals.propose("ledger.add", {"entry": "e"}, ANN, state=waiting)
        await service.proposals.approve(left.proposal_id, digest=left.digest, by="ann")
    async with make_service(url) as one, make_service(url) as two:
        first, second = open_window(one), open_window(two)
        second.answer = lambda request: None
        abandon = one.abandon

        async def overtaken(command_id: str, actor: Any) -> Any:
            result = await abandon(command_id, actor)
            pending.append(asyncio.create_task(second.recovery.resume(left.proposal_id)))
            await until(lambda: asyncio.sleep(0, second.asked))
            return result

        pending: list[asyncio.Task[Outcome]] = []
        one.abandon = overtaken  # type: ignore[method-assign]
        result = await first.recovery.discard(left.proposal_id)
        assert result is not None
        assert result.code == "abandoned"
        second.registry.approvals.approve(second.asked[0])
        assert (await pending[0]).status is Status.OK
    assert inspector.entries() == {"e": 1}


async def test_what_a_window_resumed_belongs_to_its_session(url: str) -> None:
    left = await leave(url)
    async with make_service(url) as one, make_service(url) as two:
        first, second = open_window(one), open_window(two)
        first.answer = lambda request: None
        pending = asyncio.create_task(first.recovery.resume(left.proposal_id))
        await until(lambda: asyncio.sleep(0, first.asked))
        assert (await one.proposals.get(left.proposal_id)).session == one.sessions.own != left.session
        assert (await second.recovery.look()).waiting == ()
        first.registry.approvals.approve(first.asked[0])
        assert (await pending).status is Status.OK


async def test_a_lost_connection_offers_it_twice_and_the_next_look_takes_the_lock_again(postgres: Any) -> None:
    url = postgres.new_database()
    async with make_service(url) as one, make_service(url) as two:
        first, second = open_window(one), open_window(two)
        pending = await ask(first)
        assert (await second.recovery.look()).waiting == ()
        others = "FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        Inspector(url).change(f"SELECT pg_terminate_backend(pid) {others}")

        async def offered() -> Any:
            return (await second.recovery.look()).waiting

        await until(offered)
        await first.recovery.look()
        assert (await second.recovery.look()).waiting == ()
        first.registry.approvals.approve(first.asked[0])
        assert (await pending).status is Status.OK


async def test_a_store_in_which_no_lock_can_be_held_works_all_the_same(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store.sqlite3-sessions").write_text("in the way")
    async with make_service(sqlite_url) as one, make_service(sqlite_url) as two:
        assert "cannot see that this session lives" in caplog.text
        first, second = open_window(one), open_window(two)
        pending = await ask(first)
        assert len((await second.recovery.look()).waiting) == 1
        first.registry.approvals.approve(first.asked[0])
        assert (await pending).status is Status.OK
    assert Inspector(sqlite_url).entries() == {"e": 1}


async def test_locks_are_held_and_looked_at_in_the_io_thread(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()

    def note(name: str) -> None:
        real = getattr(FileLock, name)

        def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
            threads.add(threading.current_thread().name.split("_")[0])
            return real(self, *args, **kwargs)

        monkeypatch.setattr(FileLock, name, noting)

    note("acquire")
    note("release")
    async with make_service(sqlite_url) as one, make_service(sqlite_url) as two:
        await ask(open_window(one))
        await open_window(two).recovery.look()
    assert threads == {"agentic-qt-commands"}


async def test_with_a_remote_service_the_session_is_that_of_the_store_of_proposals(
    sqlite_url: str, tmp_path: Path
) -> None:
    own_url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    async with (
        make_service(sqlite_url) as remote,
        make_service(own_url) as own,
        make_service(own_url) as beside,
        serving(create_app(remote, Tokens({hash_token("t"): ANN}))) as base,
        CommandClient(base, "t") as client,
    ):
        window, other = open_window(client, store=own), open_window(client, store=beside)
        pending = await ask(window)
        (proposal,) = await own.proposals.waiting()
        assert proposal.session == own.sessions.own
        assert (await other.recovery.look()).waiting == ()
        window.registry.approvals.approve(window.asked[0])
        assert (await pending).status is Status.OK


async def test_what_is_older_than_sessions_is_left_over(url: str, inspector: Inspector) -> None:
    left = await leave(url)
    inspector.change("UPDATE agentic_proposal SET session = NULL")
    async with make_service(url) as service:
        window = open_window(service)
        assert [each.proposal_id for each in (await window.recovery.look()).waiting] == [left.proposal_id]
        assert (await window.recovery.resume(left.proposal_id)).status is Status.OK


async def test_an_interrupted_call_is_settled_by_whoever_looked(url: str, inspector: Inspector) -> None:
    async def crash() -> int:
        async with make_service(url) as service:
            window = open_window(service)
            stuck = asyncio.Event()

            async def save() -> None:
                stuck.set()
                await asyncio.get_running_loop().create_future()

            add_form(window, save)
            saving = asyncio.create_task(window.registry.execute(Call(name="form.save", actor="ann", id="s")))
            await asyncio.wait_for(stuck.wait(), 10)
            service.journal.outcome = lambda intent, outcome: None  # type: ignore[method-assign]
            saving.cancel()
            await asyncio.wait([saving])
            return int(inspector.rows("SELECT MAX(intent_id) FROM agentic_intent")[0][0])

    happened, did_not = await crash(), await crash()
    async with make_service(url) as service:
        recovery = open_window(service).recovery
        assert [each.intent_id for each in (await recovery.look()).interrupted] == [happened, did_not]
        await recovery.resolve_interrupted(happened, applied=True)
        await recovery.resolve_interrupted(did_not, applied=False, by="bea")
        with pytest.raises(CommandError, match="no_intent"):
            await recovery.resolve_interrupted(happened, applied=False)
        assert await recovery.look() == Leftovers()
    found = inspector.rows("SELECT status, settled_by FROM agentic_intent ORDER BY intent_id")
    assert found == [("ok", "ann"), ("cancelled", "bea")]


async def test_nobody_sees_or_settles_the_interrupted_calls_of_somebody_else(url: str, service: CommandService) -> None:
    async with make_service(url) as other:
        from_ann = open_window(other)
        await other.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        other.journal.outcome = lambda intent, outcome: None  # type: ignore[method-assign]
        add_form(from_ann, lambda: None)
        assert (await from_ann.call("form.save", {})).ok
    window = open_window(service, actor_of=lambda name: None)
    assert await window.recovery.look() == Leftovers()
    (found,) = await service.journal.unresolved()
    with pytest.raises(CommandError, match="no_intent"):
        await window.recovery.resolve_interrupted(found.intent_id, applied=True)


async def test_a_lock_that_was_lost_twice_harms_nobody(url: str) -> None:
    async with make_service(url) as service:
        await lose_lock(service)
        await lose_lock(service)
        assert await service.sessions.ended([service.sessions.own, None]) == {None}
