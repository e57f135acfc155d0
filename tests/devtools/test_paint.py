"""The measurement of the first paint: what its processes are given, and how its rounds are counted."""

from agentic_qt.devtools.bench import paint


def test_the_probes_may_keep_their_bytecode_in_a_folder_of_their_own(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    given = paint._environment("somewhere")
    assert "PYTHONDONTWRITEBYTECODE" not in given
    assert given["PYTHONPYCACHEPREFIX"] == "somewhere"


def test_the_probes_run_once_before_they_count_and_then_take_turns(monkeypatch):
    codes = []

    def probe(code, _environment):
        codes.append(code)
        return (0.2, 0.02) if code is paint._ATTACHED else (0.1, 0.01)

    monkeypatch.setattr(paint, "_probe", probe)
    rows = paint.measure(3)
    assert codes == [paint._BARE, paint._ATTACHED] * (paint.ROUNDS + 1)
    assert [row.ratio for row in rows] == [1.0, 2.0, 1.0, 2.0]
    assert [row.limit for row in rows] == [None, 2.0, None, None]
