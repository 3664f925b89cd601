"""Archives that tests write do not wait for the disk, which takes longer than all else on a busy machine."""

import os
from collections.abc import Iterator

import pytest


def check_descriptor(handle: int) -> None:
    """Fail as os.fsync does where no file is open, but do not wait: no test within one process has a power cut."""
    os.fstat(handle)


@pytest.fixture(scope="package", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Replace os.fsync unless RANKJURY_THOROUGH is set; programs that tests start have the real one."""
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("RANKJURY_THOROUGH"):
            patch.setattr(os, "fsync", check_descriptor)
        yield
