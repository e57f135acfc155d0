"""The isolated gesture: whether a press may decide something that waits for a person. Widget-free but for Qt."""
