"""Tests that take long and whose subject others have as well."""

import os

import pytest

when_all_are_wanted = pytest.mark.skipif(
    not os.environ.get("RANKJURY_THOROUGH"),
    reason="takes long, and others look at the same: RANKJURY_THOROUGH=1 runs it",
)
