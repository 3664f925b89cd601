"""Gate, page and comment of the GitHub Action.

action.yml passes its inputs as INPUT_… variables. A verdict never fails this step: the exit code and the annotations
are outputs, so that page and comment are uploaded before the last step fails.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp

from rankjury.core.text import escape_markdown
from rankjury.errors import RankjuryError, UsageError
from rankjury.evaluation.baseline_file import looks_like_baseline
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import looks_like_report, read_report
from rankjury.evaluation.targets import parse_targets
from rankjury.measures.dialects import resolve
from rankjury.reporting.writers.pull_request import to_comment

TEMP = Path(mkdtemp(prefix="rankjury-", dir=os.environ["RUNNER_TEMP"]))
LEVELS = {"fail": "error", "unsure": "warning"}


def main() -> None:
    """Decide by the targets, write page and comment, and set the outputs of the step."""
    comment, annotations = Path(text_input("COMMENT_FILE")), TEMP / "annotations.txt"
    comment.parent.mkdir(parents=True, exist_ok=True)
    outputs = {"comment": comment, "annotations": annotations}
    verdicts = TEMP / "gate.json"
    try:
        baseline = find_baseline(text_input("BASELINE"))
        code, errors = check_targets(baseline, verdicts)
    except (RankjuryError, ValueError) as error:  # ValueError: args with a quote that does not end
        code, errors = UsageError.exit_code, f"error: {error}"
    if verdicts.exists():
        gate = Gate.from_json(json.loads(verdicts.read_text(encoding="utf-8")), str(verdicts))
        outputs["verdict"] = gate.outcome
        lines = [
            annotation(LEVELS[verdict.outcome], f"rankjury: {verdict.system}", verdict.sentence)
            for verdict in gate.verdicts
            if verdict.outcome in LEVELS
        ]
        files, errors = write_page(baseline, gate)
        if files:
            outputs |= files
            text = to_comment(read_report(str(files["report"])).with_sections(gate))
        else:
            lines.append(annotation("warning", "rankjury: no page", errors))
            text = f"### rankjury: {gate.outcome.upper()}\n\n{escape_markdown(gate.sentence)}\n"
    else:
        lines = [annotation("error", "rankjury", errors)]
        text = f"### ❌ rankjury has no verdict\n\n{escape_markdown(errors)}\n"
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):  # rankjury gate writes its verdicts there itself
            append(summary, text)
    comment.write_text(text, encoding="utf-8")
    annotations.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name, value in {**outputs, "exit-code": code}.items():
        delimiter = token_hex()
        append(os.environ["GITHUB_OUTPUT"], f"{name}<<{delimiter}\n{value}\n{delimiter}\n")


def check_targets(baseline: str, verdicts: Path) -> tuple[int, str]:
    """Run rankjury gate, and return its exit code and its errors."""
    flags = [f"--{name.lower()}" for name in ("STRICT", "LENIENT") if text_input(name).lower() == "true"]
    slices = [option for text in lines_input("SLICES") for option in ("--slices", text)]
    options = [*(["--baseline", baseline] if baseline else []), *slices, *flags, *further_options()]
    return rankjury("gate", text_input("TARGETS"), *files_input(), *options, "-o", str(verdicts))


def write_page(baseline: str, gate: Gate) -> tuple[dict[str, Path], str]:
    """Write the page and the report on the measures of the targets; return the files, or none and the errors."""
    page = Path(text_input("PAGE"))
    page.parent.mkdir(parents=True, exist_ok=True)
    report = page.with_suffix(".json")
    targets = Path(text_input("TARGETS"))
    asked = parse_targets(targets.read_text(encoding="utf-8"), str(targets))
    baseline = baseline or (asked.baseline and beside(targets, asked.baseline)) or ""
    compared = bool(baseline) and not (looks_like_report(baseline) or looks_like_baseline(baseline))
    options = ["--baseline", baseline] if compared else []
    slices = [*lines_input("SLICES"), *(beside(targets, text) for text in asked.slices)]
    options += [option for text in slices for option in ("--slices", text)]
    options += [option for text in asked.item_slices for option in ("--item-slices", beside(targets, text))]
    for subject in dict.fromkeys(verdict.target.subject for verdict in gate.verdicts):
        try:
            resolve(subject)
        except UsageError:  # a recorded value
            continue
        options += ["-m", subject]
    command = "compare" if compared else "evaluate"
    written = ["-o", str(page), "-o", str(report)]
    code, errors = rankjury(command, *files_input(), *options, *further_options(), *written, quiet=True)
    return ({} if code else {"page": page, "report": report}), errors


def find_baseline(name: str) -> str:
    """Return the baseline as a file: of the artifact, or with the report of an archived run; else as it is named."""
    artifact = text_input("BASELINE_ARTIFACT")
    if artifact:
        folder = Path(os.environ["RUNNER_TEMP"]) / "rankjury-baseline" / artifact  # as action.yml downloads it
        found = [folder / name] if name else sorted(folder.rglob("*.json"))
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise UsageError(f"the .json files of the artifact {artifact}: {names}", hint="Name one as baseline.")
        return str(found[0])
    if not name or Path(name).exists():
        return name
    file = TEMP / "archived.json"
    code, _ = rankjury("show", name, "-o", str(file), quiet=True)
    return name if code else str(file)


def beside(targets: Path, text: str) -> str:
    """Return a file that the targets name, relative to them if it is there; attributes may follow it."""
    place = targets.parent / text
    return str(place) if place.exists() or place.with_name(place.name.partition(":")[0]).exists() else text


def rankjury(*arguments: str, quiet: bool = False) -> tuple[int, str]:
    """Run a command, and return its exit code and what it printed to standard error.

    Ids of the data may look like commands to the runner (``::set-env``), so the runner ignores commands meanwhile. -P
    keeps modules of the current folder from being imported.
    """
    token = token_hex()
    print(f"::stop-commands::{token}", flush=True)
    command = [sys.executable, "-P", "-m", "rankjury", *arguments]
    out = subprocess.DEVNULL if quiet else None
    ended = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    print("" if quiet else ended.stderr, f"::{token}::", sep="\n", flush=True)
    code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode  # as a shell shows a signal
    return code, ended.stderr.strip() or f"rankjury {arguments[0]} ended with exit code {code}"


def text_input(name: str) -> str:
    return os.environ.get(f"INPUT_{name}", "").strip()


def lines_input(name: str) -> list[str]:
    """Return the lines of an input that are not empty."""
    return [line.strip() for line in text_input(name).splitlines() if line.strip()]


def files_input() -> list[str]:
    return [text_input("GOLD"), *lines_input("RUN")]


def further_options() -> list[str]:
    return shlex.split(text_input("ARGS"))


def annotation(level: str, title: str, text: str) -> str:
    """Return a workflow command that shows a text in the pull request."""
    title, text = (part.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A") for part in (title, text))
    title = title.replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{text}"


def append(path: str, text: str) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
