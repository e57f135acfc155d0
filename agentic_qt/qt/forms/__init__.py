"""Declarative forms: a widget with a few dynamic properties becomes a capability."""
