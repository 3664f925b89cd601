"""Install what tests on Spark need beside its library: Debian's Java 17.

A Java that is there already is left alone, so that a second call takes no time. Where none can be installed, that is
told, not fatal: the tests on Spark then skip, and say why.
"""

import os
import shutil
import sys

from debian import install_packages

PACKAGE = "openjdk-17-jre-headless"


def main() -> None:
    trouble = None if has_java() else install_packages(PACKAGE)
    if trouble is not None:
        print(f"could not install Java: {trouble}; tests on Spark will skip", file=sys.stderr)


def has_java() -> bool:
    return bool(os.environ.get("JAVA_HOME")) or shutil.which("java") is not None


if __name__ == "__main__":
    main()
