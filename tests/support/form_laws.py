"""What holds for every form and every input; drawn by Hypothesis, in the suite and in the long run."""

import pytest
from hypothesis import strategies as st

from agentic_qt.qt.forms.fill import FillError, fill, preview, restore, take_snapshot
from agentic_qt.qt.forms.synthesise import input_schema
from agentic_qt.schema.validate import compile_schema
from tests.support.random_forms import build, wanted, whole_state


def takes_and_gives_back(specs, data):
    form = build(specs)
    places = data.draw(st.lists(st.sampled_from(range(len(specs))), unique=True))
    values = {f"f{place}": specs[place].good for place in places}
    before, held = whole_state(form), take_snapshot(form)
    schema = compile_schema(input_schema(form))
    assert schema.issues(values) == ()
    foreseen = {change.key: change.new for change in preview(form, values)}
    assert whole_state(form) == before
    filled = fill(form, values)
    for place in places:
        assert filled.after.values[f"f{place}"] == wanted(specs[place])
    others = {key: value for key, value in held.values.items() if key not in values}
    assert others.items() <= filled.after.values.items()
    assert {change.key: change.new for change in filled.changes} == foreseen
    assert take_snapshot(form) == filled.after
    assert restore(form, filled.before) == ()
    assert take_snapshot(form) == held
    form.deleteLater()


def refuses_and_changes_nothing(specs, data):
    form = build(specs)
    for place in data.draw(st.lists(st.sampled_from(range(len(specs))), unique=True)):
        fill(form, {f"f{place}": specs[place].good})
    before = whole_state(form)
    values = {f"f{place}": spec.good for place, spec in enumerate(specs)}
    wrong = data.draw(st.sampled_from([*range(len(specs)), None]))
    if wrong is None:
        values["nothing"] = 1
    else:
        values[f"f{wrong}"] = specs[wrong].bad
    pointer = "/nothing" if wrong is None else f"/f{wrong}"
    with pytest.raises(FillError) as refusal:
        fill(form, values)
    assert refusal.value.code == "invalid_input"
    assert all(issue.pointer.startswith(pointer) for issue in refusal.value.issues)
    assert whole_state(form) == before
    form.deleteLater()
