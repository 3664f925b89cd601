"""Write the pages of docs/reference from the code: python scripts/make_reference.py [--check].

``--check`` writes nothing; it names the pages that differ from the code, and exits with 1 where there are any.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from reference import differing, write


def main() -> int:
    if "--check" in sys.argv[1:]:
        changed = sorted(differing())
        for name in changed:
            print(f"docs/reference/{name} differs from the code; run: python scripts/make_reference.py")
        return int(bool(changed))
    for name in write():
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
