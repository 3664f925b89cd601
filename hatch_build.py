"""The README as package indexes show it: without the repository, its relative links would lead nowhere."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!https://|#)(?P<path>[^)\s]+)\)")

_FENCE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)


class ReadmeHook(MetadataHookInterface):
    """Sets the field ``readme``, which pyproject.toml names as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, source, metadata["version"]),
        }


def absolute_links(text: str, source: str | None, version: str) -> str:
    """Return Markdown whose relative links lead to the files of the release.

    Args:
        text: The Markdown.
        source: Address of the repository; None: links become their texts, and pictures are omitted.
        version: The release.
    """

    def replaced(link: re.Match[str]) -> str:
        if source is None:
            return "" if link["image"] else link["text"]
        view = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({source}/{view}/v{version}/{link['path']})"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(replaced, part) for part in parts)
