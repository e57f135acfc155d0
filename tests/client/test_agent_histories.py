"""Random conversations, catalogues and persons: no request is one that a provider refuses."""

import logging

import pytest
from hypothesis import HealthCheck, given, settings

from tests.soak.histories import play, scenarios


@pytest.fixture(autouse=True)
def quiet():
    """What goes wrong on purpose is logged on purpose."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios)
def test_whatever_happens_every_request_is_one_that_providers_take(scenario):
    """G27, FC-50, FC-57, FC-58, FC-62: the published schema, the overlay and Mistral's own validator."""
    play(scenario)
