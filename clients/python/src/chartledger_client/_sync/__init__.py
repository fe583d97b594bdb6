"""The calls of the blocking client."""
