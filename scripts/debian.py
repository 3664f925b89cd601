"""Packages of Debian for tests, where they can be installed."""

import os
import shutil
import subprocess

__all__ = ["install_packages", "trouble_of"]

LONGEST_SECONDS = 900
APT = ("apt-get", "-qq", "-o", "Acquire::Retries=2", "-o", "DPkg::Lock::Timeout=120")


def install_packages(*packages: str) -> str | None:
    """Give what went wrong, or None."""
    if shutil.which("apt-get") is None:
        return "there is no apt-get here"
    if os.geteuid() != 0:
        return f"apt-get needs root (sudo apt-get install {packages[0]})"
    trouble_of(*APT, "update")  # may fail where the lists are there already: the next step tells
    return trouble_of(*APT, "install", "--yes", "--no-install-recommends", *packages)


def trouble_of(*command: str) -> str | None:
    """Run a command in silence; the first line of what it complained of, or None where all went well."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=LONGEST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ran.returncode == 0:
        return None
    said = (ran.stderr or ran.stdout).strip().splitlines()
    return said[0] if said else f"{command[0]} ended with {ran.returncode}"
