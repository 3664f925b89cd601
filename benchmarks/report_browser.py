"""Opens a page of a report in Chromium and has it measured by the browser itself; prints milliseconds as JSON.

`first_paint` is the first contentful paint, `rows` the first row of the table of queries, both since the page was asked
for, in a fresh context each time. `switches` are times from the press of a key to the frame that shows another query.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

# At the end: what the standard library has too, such as `statistics`, is to be taken from there.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from tests.browser.ground import evaluated, launched, missing, watched

Results = dict[str, Any]

FIRST_ROW = """
window.firstRow = new Promise(done => {
  const seen = () => {
    if (!document.querySelector("tr[data-query]")) return false;
    requestAnimationFrame(() => setTimeout(() => done(performance.now())));
    return true;
  };
  const watcher = new MutationObserver(() => { if (seen()) watcher.disconnect(); });
  watcher.observe(document, { childList: true, subtree: true });
});
"""
# The task behind a frame's callback runs when that frame has been handed over.
WATCH_SWITCHES = """
window.switches = [];
window.shownSoMany = async number => {
  while (switches.length < number) await new Promise(done => setTimeout(done, 5));
};
{
  let pressed = 0;
  addEventListener("keydown", event => { pressed = event.timeStamp; }, true);
  const shown = () => requestAnimationFrame(() => setTimeout(() => switches.push(performance.now() - pressed)));
  new MutationObserver(shown).observe(document.querySelector("#query"), { attributeFilter: ["data-shown"] });
}
0
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)[0]"


def open_page(browser: Any, page: Path) -> Results:
    with watched(browser) as watch:
        watch.page.add_init_script(FIRST_ROW)
        watch.page.goto(page.as_uri())
        rows = evaluated(watch.page, "firstRow")
        watch.page.wait_for_function(f"() => {PAINTED} !== undefined")
        return {"first_paint": evaluated(watch.page, PAINTED), "rows": rows, "faults": watch.faults}


def switch_queries(browser: Any, page: Path, switches: int) -> list[float]:
    """Open the first query, and go on by the key j."""
    with watched(browser) as watch:
        watch.page.goto(page.as_uri())
        watch.page.wait_for_selector("tr[data-query]")
        evaluated(watch.page, WATCH_SWITCHES)
        watch.page.keyboard.press("j")
        watch.page.keyboard.press("Enter")
        for number in range(1, switches + 2):
            evaluated(watch.page, f"shownSoMany({number})")
            watch.page.keyboard.press("j")
        times: list[float] = evaluated(watch.page, "switches")
    return times[1 : switches + 1]  # the first opened the pane


def measure(page: Path, rounds: int, switches: int) -> Results:
    reason = missing()
    if reason:
        raise SystemExit(reason)
    with launched() as browser:
        open_page(browser, page)  # not counted: the browser itself warms up
        opened = [open_page(browser, page) for _ in range(rounds)]
        switched = switch_queries(browser, page, switches)
        version = browser.version
    return {
        "first_paint": [one["first_paint"] for one in opened],
        "rows": [one["rows"] for one in opened],
        "faults": [fault for one in opened for fault in one["faults"]],
        "switches": switched,
        "chromium": version,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--switches", type=int, default=50)
    print(json.dumps(measure(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
