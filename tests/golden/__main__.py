"""Write the golden outputs again and list what changed."""

import sys

from tests.golden.cases import CASES
from tests.golden.recording import EXPECTED, read_expected, record


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        print(f"error: unknown case {', '.join(unknown)}; cases are {', '.join(CASES)}", file=sys.stderr)
        return 2
    changed = 0
    for name in names or CASES:
        before, after = read_expected(name), record(name, CASES[name])
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) == after.get(path):
                continue
            changed += 1
            file = EXPECTED / name / path
            print(f"{'removed' if path not in after else 'changed' if path in before else 'added'} {file}")
            if path not in after:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(after[path], encoding="utf-8", newline="\n")
    size = sum(file.stat().st_size for file in EXPECTED.rglob("*") if file.is_file())
    print(f"{changed} files changed; {size / 1000:.0f} KB in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
