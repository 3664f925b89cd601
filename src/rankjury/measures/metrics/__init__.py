"""Metrics as pure functions of ``Judged``, one module per family; the registry finds them by scanning this package."""
