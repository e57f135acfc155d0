"""The worked examples of an application: what its capabilities declare, by the names that a chat model sees."""

from agentic_qt.client.decoding_catalogue import Example
from agentic_qt.core.capability import Risk
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.names import to_wire


def examples_of(registry: Registry) -> tuple[Example, ...]:
    """Return the examples of all visible capabilities, by the names that the model sees."""
    return tuple(
        Example(
            tool=to_wire(registration.name),
            request=request,
            arguments=arguments,
            writes=registration.capability.effective_risk is not Risk.READ,
        )
        for registration in registry.visible
        for request, arguments in registration.capability.examples
    )
