"""Metrics as pure functions of ``Judged``, one module per family; the registry imports all modules of this package."""
