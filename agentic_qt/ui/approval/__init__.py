"""How a person is asked: the exact display of what is about to run, and the gestures that decide.

It shows requests of an `ApprovalQueue` and tells the queue what the person decided. It never runs anything, and nothing
that a chat model wrote is shown as more than text.
"""
