#!/usr/bin/env python3
"""Measures rankjury against other tools on a run of 6,980 queries with 1,000 documents each.

  files    fresh processes, from start to printed means: rankjury, pytrec_eval-terrier, ir_measures, ranx, and
           merely parsing the run with Polars; checks that the means agree
  memory   evaluation alone, with everything read already: rankjury and warm ranx
  scaling  rankjury alone, with 0.7, 7 and 21 million rows, from TREC text and from Parquet

Exit status: 0 if all went well, whatever the speed; 1 if means disagree or a tool failed; 2 for wrong
options.
"""

from __future__ import annotations

import sys

import part_files
import part_memory
import part_scaling
from harness import Results, ToolFailedError, describe_machine, save_results
from options import Options, read_options

RUNNERS = {"files": part_files.run_part, "memory": part_memory.run_part, "scaling": part_scaling.run_part}


def find_missing_program(options: Options) -> str | None:
    """Say which program is missing, before anything is measured."""
    if not options.python.exists():
        return f"no interpreter at {options.python}: see benchmarks/README.md, or pass --python"
    if "rankjury" not in options.skipped and not options.rankjury.exists():
        return f"no rankjury at {options.rankjury}: install it, pass --rankjury, or --skip rankjury"
    if "rankjury" in options.skipped and "scaling" in options.parts:
        return "scaling measures rankjury alone, so it cannot skip rankjury"
    return None


def main() -> int:
    options = read_options(__doc__)
    if missing := find_missing_program(options):
        print(missing, file=sys.stderr)
        return 2
    results: Results = {"schema": "rankjury.benchmark/1", "machine": describe_machine(), "parts": {}}
    agreed = True
    for part in options.parts:
        try:
            results["parts"][part], part_agreed = RUNNERS[part](options)
        except ToolFailedError as error:
            print(f"\n{part}: {error}\nPass --skip TOOL to go on without a tool.", file=sys.stderr)
            return 1
        agreed = agreed and part_agreed
        if options.json:
            save_results(options.json, results)
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
