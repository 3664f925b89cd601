"""Write docs/index.md, docs/llms.txt and AGENTS.md from other pages: make_overview.py [--check | --full FILE].

``--full FILE`` writes all pages into one file, for language models: ``make docs`` adds it to the site.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SUMMARY = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["site_description"]
AT_ROOT = {
    "CONTRIBUTING.md": "contributing/index.md",
    "SECURITY.md": "explanation/index.md",
    "CHANGELOG.md": "contributing/releasing.md",
}
"""Files outside of docs/ that the README names, and the page of the site that says the same or leads to it."""


def home_page() -> str:
    """Return the README as the first page of the site."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = text.replace("](docs/", "](")
    for name, page in AT_ROOT.items():
        text = text.replace(f"]({name})", f"]({page})")
    return f"---\nsource: README.md\n---\n{text}"


def sections() -> Iterator[tuple[str, list[Path]]]:
    """Yield the sections of the navigation with their pages."""
    for entry in yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]:
        ((title, pages),) = entry.items()
        names = (
            [pages]
            if isinstance(pages, str)
            else [page if isinstance(page, str) else next(iter(page.values())) for page in pages]
        )
        yield title, [DOCS / name for name in names]


def title_and_summary(page: Path) -> tuple[str, str]:
    """Return a page's heading and its first sentence."""
    text = re.sub(r"^---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    title = re.search(r"^# (.*)$", text, re.MULTILINE)
    prose = re.sub(
        r"^```.*?^```|^<!--.*?-->", "", text[title.end() :] if title else text, flags=re.DOTALL | re.MULTILINE
    )
    first = next((part for part in prose.split("\n\n") if re.match(r"\s*[\w`*\[]", part)), "")
    sentence = re.match(r".*?[.?:](?=\s|$)", " ".join(first.split()))
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", sentence[0] if sentence else "")
    return (title[1] if title else page.stem), plain.rstrip(":")


def site_address(page: Path) -> str:
    """Return the address of a page, relative to the site's root."""
    path = page.relative_to(DOCS).with_suffix("")
    return f"{path.parent if path.name == 'index' else path}/"


def file_name(page: Path) -> str:
    """Return the path of a page, relative to the checkout."""
    return page.relative_to(ROOT).as_posix()


def page_list(address: Callable[[Path], str]) -> str:
    """Return the pages as a Markdown list per section."""
    lines = []
    for title, pages in sections():
        if title == "Home":
            continue
        lines += [f"\n## {title}\n"]
        for page in pages:
            name, summary = title_and_summary(page)
            lines.append(f"- [{name}]({address(page)}): {summary}")
    return "\n".join(lines)


def llms_txt() -> str:
    return f"# rankjury\n\n> {SUMMARY}\n{page_list(site_address)}\n"


def agents_md() -> str:
    rules = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## ")[2]
    return f"""# Instructions for coding agents

<!-- made by scripts/make_overview.py from CONTRIBUTING.md and docs/ -->

{SUMMARY}
To use rankjury, start with the [quickstart](docs/start/quickstart.md) and `rankjury --help`. To change it, follow the
rules below.

## {rules}
# Pages
{page_list(file_name)}
"""


def full_text() -> str:
    """Return all pages, one after the other."""
    texts = [page.read_text(encoding="utf-8") for _, pages in sections() for page in pages]
    return "\n\n".join(re.sub(r"^---\n.*?\n---\n", "", text, flags=re.DOTALL).strip() for text in texts) + "\n"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--full"]:
        Path(arguments[1]).write_text(full_text(), encoding="utf-8")
        return 0
    files = {DOCS / "index.md": home_page}
    files |= {DOCS / "llms.txt": llms_txt, ROOT / "AGENTS.md": agents_md}
    different = []
    for path, make in files.items():
        new = make()
        if not path.exists() or path.read_text(encoding="utf-8") != new:
            different.append(str(path.relative_to(ROOT)))
            if arguments != ["--check"]:
                path.write_text(new, encoding="utf-8")
    if arguments == ["--check"] and different:
        print(f"not current: {', '.join(different)}; run python scripts/make_overview.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
