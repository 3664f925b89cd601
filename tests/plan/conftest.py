"""What several tests of plans start from."""

from pathlib import Path

import pytest

from tests.plan.keyword_plans import written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Annotated clips, texts that ask for them, and vectors of both."""
    return written(tmp_path)
