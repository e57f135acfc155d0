"""Applications that show the library at work; each one runs without a display under a test."""
