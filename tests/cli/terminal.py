"""What a person at a terminal gets to see."""

import os
import pty
import subprocess
import sys


def in_terminal(arguments: list[str], **environment: str) -> str:
    """What a terminal gets to see."""
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    with subprocess.Popen(
        [sys.executable, "-m", "rankjury", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**clean, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        process.wait(timeout=60)
    os.close(ours)
    return seen.decode()
