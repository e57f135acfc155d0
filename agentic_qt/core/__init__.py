"""The registry and the one execution path: no Qt, no I/O, plain asyncio."""
