"""Talking to a chat model: the port, the providers, the assembler and the agent's loop."""
