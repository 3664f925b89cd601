"""The command: ``rankjury``, or ``python -m rankjury``."""

from rankjury.core.signals import install

TYPE_CHECKING = False  # typing takes as long to load as everything before
if TYPE_CHECKING:
    from typing import NoReturn


def run() -> "NoReturn":
    """Handle signals before anything else is loaded, then run the command line as a process of its own."""
    install()
    from rankjury.cli import run

    run()


if __name__ == "__main__":
    run()
