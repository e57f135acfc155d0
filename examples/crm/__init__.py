"""A small customer application, and how an assistant operates it: run ``python -m examples.crm``."""
