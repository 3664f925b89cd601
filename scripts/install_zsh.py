"""Install zsh for the tests of completion, where apt-get can; without it they skip, and say why."""

import shutil
import sys

from debian import install_packages

if __name__ == "__main__":
    trouble = None if shutil.which("zsh") else install_packages("zsh")
    if trouble is not None:
        print(f"could not install zsh: {trouble}; the tests of its completion will skip", file=sys.stderr)
