"""Write the picture of the HTML page that the README shows: python scripts/make_picture.py (needs Chromium).

It is drawn in few colours at the width of a laptop, so that it stays small.
"""

import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

import rankjury

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "src" / "rankjury" / "plan" / "samples" / "helpdesk"
PICTURE = ROOT / "docs" / "assets" / "report.png"
WIDTH, HEIGHT, COLOURS = 1200, 1030, 128


def screenshot(page: Path, dark: bool = False) -> Image.Image:
    """Return the upper part of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark" if dark else "light"
        )
        tab = context.new_page()
        tab.goto(page.as_uri())
        taken = tab.screenshot()
        browser.close()
    return Image.open(io.BytesIO(taken))


def main() -> int:
    report = rankjury.compare(
        str(SAMPLE / "qrels.trec"),
        {name: str(SAMPLE / f"{name}.trec") for name in ("bm25", "dense")},
        ["ndcg@10", "recall@20"],
        slices=str(SAMPLE / "queries.jsonl"),
        by="type",
        names=f"{SAMPLE / 'documents.jsonl'}:title",
        texts=f"{SAMPLE / 'queries.jsonl'}:text",
    )
    with TemporaryDirectory() as folder:
        (page,) = report.save(Path(folder) / "report.html")
        picture = screenshot(page)
    picture.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
