"""The archive that remembers: every run with what it was made of, whole or not at all, readable for ever."""
