"""The words of a text that are looked at, and its n-grams: runs of these words that may mean something."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rankjury.labeling.normalize import BREAK, Phrase, key_of, singular, surfaces

_FILLERS = "a an the this that these those there is are was were am be been being some any"
_STOP_WORDS = (
    "about after and as at before but by for from he her him his i in into it its me my of off on onto or our out over "
    "she so than their them then they to toward towards under up us we what when where which while who whose with you "
    "your"
)
FILLERS = frozenset(_FILLERS.split())
"""Left out of texts and of spellings, so that *entering the ego lane* is *entering ego lane*."""
STOP_WORDS = FILLERS | frozenset(_STOP_WORDS.split())
"""They mean nothing by themselves, but with others: *cutting in*, *on left*."""


@dataclass(frozen=True)
class Words:
    """The words of a text without fillers; a BREAK stands where a phrase ends."""

    shown: tuple[str, ...]
    compared: tuple[str, ...]

    def phrase(self, start: int, end: int) -> str:
        return " ".join(self.shown[start:end])

    def key(self, start: int, end: int) -> str:
        return key_of(self.compared[start:end])

    def spans(self, low: int, high: int, closed: Collection[int] = ()) -> Iterator[tuple[int, int]]:
        """Runs of ``low`` to ``high`` words, over no break and none of the ``closed`` places."""
        size = len(self.compared)
        for start in range(size):
            for end in range(start + 1, min(start + high, size) + 1):
                if self.compared[end - 1] == BREAK or end - 1 in closed:
                    break
                if end - start >= low:
                    yield start, end

    def says_something(self, start: int, end: int) -> bool:
        return any(word not in STOP_WORDS for word in self.shown[start:end])


def read_words(text: str, fillers: Collection[str] = FILLERS) -> Words:
    """Of a text, or of a keyword: an underscore is a blank."""
    shown = tuple(word for word in surfaces(text) if word not in fillers)
    return Words(shown, tuple(map(singular, shown)))


def phrase_of(text: str, fillers: Collection[str] = FILLERS) -> tuple[str, Phrase]:
    """How a spelling is shown and compared: its words without fillers, unless it has no others, and without breaks."""
    words = read_words(text, fillers)
    if all(word == BREAK for word in words.compared):
        words = read_words(text, ())
    kept = [place for place, word in enumerate(words.compared) if word != BREAK]
    return " ".join(words.shown[place] for place in kept), tuple(words.compared[place] for place in kept)
