"""Exact method: keyword names and synonyms that occur in the text.

Case, accents, hyphens, plurals and articles are ignored, and an underscore in a name is a blank.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher

from rankjury.core.progress import Progress
from rankjury.labeling.keywords.annotations import Vocabulary
from rankjury.labeling.keywords.mapping import MAPPERS, Candidate, MappingSettings, best_candidates
from rankjury.labeling.keywords.spellings import load_spellings

_DIGITS = 6


@MAPPERS.register("exact")
class ExactMapper:
    """Finds literal matches only, with score 1."""

    about = "names and synonyms that occur literally in the text"

    def __init__(self, vocabulary: Vocabulary, settings: MappingSettings) -> None:
        self.threshold = 1.0
        self._spellings = load_spellings(vocabulary, settings)
        self.notes = self._spellings.notes

    def candidates(self, texts: Sequence[str], progress: Progress) -> list[list[Candidate]]:
        found = [list(self._spellings.literal(self._spellings.read(text))) for text in texts]
        progress.update("Mapping texts", len(texts), len(texts))
        return found

    def nearest(self, text: str, count: int) -> list[Candidate]:
        """Compare by letters, so that misspellings are found."""
        words = self._spellings.read(text)
        found = []
        for start, end in words.spans(1, self._spellings.longest):
            if words.says_something(start, end):
                shown = words.phrase(start, end)
                matcher = SequenceMatcher(None, "", shown, autojunk=False)
                for spelling in self._spellings.listed:
                    matcher.set_seq1(spelling.shown)
                    ratios = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)  # the slowest last
                    if all(ratio() >= 0.6 for ratio in ratios):
                        score = round(matcher.ratio(), _DIGITS)
                        found.append(Candidate(start, end, spelling.number, score, shown, spelling.shown))
        return best_candidates(found, count)
