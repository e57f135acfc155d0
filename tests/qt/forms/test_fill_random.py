"""Random forms: what is filled in is read back, and a refused input changes nothing (FC-73)."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.form_laws import refuses_and_changes_nothing, takes_and_gives_back
from tests.support.random_forms import FORMS

CASES = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


@CASES
@given(specs=FORMS, data=st.data())
def test_a_valid_input_is_read_back_as_it_was_given(qapp, specs, data):
    """G34, FC-73, FC-74."""
    takes_and_gives_back(specs, data)


@CASES
@given(specs=FORMS, data=st.data())
def test_an_invalid_input_is_refused_and_changes_nothing(qapp, specs, data):
    """G34, FC-73."""
    refuses_and_changes_nothing(specs, data)
