"""Time stamps: SOURCE_DATE_EPOCH sets them, and an invalid one is an error."""

import pytest

from rankjury.core.clock import timestamp
from rankjury.errors import UsageError


def test_the_time_may_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert timestamp() == "1970-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(UsageError, match="SOURCE_DATE_EPOCH is 'yesterday'"):
        timestamp()
