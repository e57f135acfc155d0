"""What ``agentic-qt eval`` asks of the examples, and how it looks into them."""
