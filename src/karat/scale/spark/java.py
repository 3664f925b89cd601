"""The Java that Spark runs on: which one is there, and whether it is new enough."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from karat.errors import UsageError

__all__ = ["OLDEST", "check_java", "version_of"]

OLDEST = 17
"""What Spark 4 asks for."""
_HINT = "On Debian: apt-get install openjdk-17-jre-headless. JAVA_HOME says which Java is taken."
_ANSWERS_WITHIN = 30


def check_java() -> None:
    """Refuse to start Spark where it would fail for want of Java."""
    java = _java()
    if java is None:
        raise UsageError("there is no java on the PATH, and JAVA_HOME is not set", expected=_wanted(), hint=_HINT)
    said = _asked(java)
    version = version_of(said)
    if version is None:
        first = next(iter(said.strip().splitlines()), "nothing")
        raise UsageError(f"'{java} -version' says {first!r}", expected=_wanted(), hint=_HINT)
    if version < OLDEST:
        raise UsageError(f"{java} is Java {version}", expected=_wanted(), hint=_HINT)


def version_of(said: str) -> int | None:
    """The number of the release in what ``java -version`` says: 8 of ``1.8.0_412``, 17 of ``17.0.15``."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else None


def _java() -> str | None:
    """As Spark's own script looks for it."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _asked(java: str) -> str:
    try:
        ran = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=_ANSWERS_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"cannot start {java}: {error}", expected=_wanted(), hint=_HINT) from None
    return ran.stderr + ran.stdout


def _wanted() -> str:
    return f"Java {OLDEST} or later, on which Spark 4 runs"
