"""The wire between a chat model and the registry, without I/O."""
