"""Which of a text's candidates stand: words mean one thing, a keyword is found once, and whoever lost is told why."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rankjury.labeling.keywords.mapping import Candidate, Dropped, Extraction, Mapped
from rankjury.labeling.keywords.vocabulary import Vocabulary

_NAMED = 3


def settle(
    text: str, candidates: Sequence[Candidate], vocabulary: Vocabulary, method: str, groups: Sequence[str] | None = None
) -> Extraction:
    """Keep candidates best first: literal matches, then the higher score, the longer n-gram, the earlier n-gram, the
    vocabulary's order.

    A candidate whose words are taken, in part or whole, is dropped; so is one whose keyword is there already, though
    its words are taken then; so is a part that several keywords share. Of what is left, keywords of groups that are not
    among ``groups`` are dropped as well.
    """
    standing: list[Candidate] = []
    kept: dict[int, Candidate] = {}
    dropped: list[tuple[Candidate, str]] = []
    for one in sorted((_counting(one, vocabulary, groups) for one in candidates), key=_order):
        winner = next((other for other in standing if one.start < other.end and other.start < one.end), None)
        if one.sharing:
            dropped.append((one, _shared(one, vocabulary)))
        elif winner is not None:
            dropped.append((one, _overlapping(one, winner, vocabulary)))
        else:
            standing.append(one)
            earlier = kept.setdefault(one.number, one)
            if earlier is not one:
                dropped.append((one, f"found already, by {earlier.ngram!r} ({earlier.score:.2f})"))
    dropped += _beaten(kept, vocabulary)
    for number, one in list(kept.items()):
        group = vocabulary.keywords[number].group
        if groups is not None and group not in groups:
            dropped.append((one, f"{group} is not selected"))
            del kept[number]
    in_place = sorted(kept.values(), key=lambda one: one.start)
    lost = sorted(dropped, key=lambda pair: _order(pair[0]))
    return Extraction(
        text,
        tuple(_mapped(one, vocabulary, method) for one in in_place),
        tuple(Dropped(_mapped(one, vocabulary, method), reason) for one, reason in lost),
    )


def _counting(one: Candidate, vocabulary: Vocabulary, groups: Sequence[str] | None) -> Candidate:
    """Of keywords that the same words mean equally well, one of a group that counts."""
    if groups is None or vocabulary.keywords[one.number].group in groups:
        return one
    for other in one.beaten:
        if other.score == one.score and vocabulary.keywords[other.number].group in groups:
            rest = tuple(third for third in one.beaten if third is not other)
            return replace(other, beaten=(replace(one, beaten=()), *rest))
    return one


def best_first(candidates: Iterable[Candidate], count: int) -> list[Candidate]:
    """So many, each keyword once, and those that were beaten among them."""
    found: dict[int, Candidate] = {}
    everyone = [other for one in candidates for other in (one, *one.beaten)]
    for one in sorted(everyone, key=_order):
        found.setdefault(one.number, one)
    return list(found.values())[:count]


def _order(one: Candidate) -> tuple[bool, float, int, int, int]:
    return not one.literal, -one.score, one.start - one.end, one.start, one.number


def _shared(one: Candidate, vocabulary: Vocabulary) -> str:
    names = [vocabulary.keywords[number].name for number in one.sharing]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{one.ngram!r} is only a part, which {', '.join(names[:_NAMED])}{more} share"


def _overlapping(one: Candidate, winner: Candidate, vocabulary: Vocabulary) -> str:
    name = vocabulary.keywords[winner.number].name
    if winner.number == one.number:
        return f"found by {winner.ngram!r} ({winner.score:.2f}), which it overlaps"
    if winner.score > one.score:
        how = f"comes nearer to {name} ({winner.score:.2f})"
    elif winner.literal and not one.literal:
        how = f"is a literal match of {name}"
    elif winner.end - winner.start > one.end - one.start:
        how = f"is longer, and means {name}"
    elif winner.start < one.start:
        how = f"comes before it, and means {name}"
    else:
        how = f"may as well mean {name}, which the vocabulary has first"
    return f"overlaps {winner.ngram!r}, which {how}"


def _beaten(kept: dict[int, Candidate], vocabulary: Vocabulary) -> Iterator[tuple[Candidate, str]]:
    """Keywords that the words of another came near to as well."""
    for winner in kept.values():
        for one in winner.beaten:
            if one.number in kept:
                continue
            mine, other = vocabulary.keywords[winner.number], vocabulary.keywords[one.number]
            name = mine.name if mine.name != other.name else str(mine)
            how = "is nearer to" if winner.score > one.score else "may as well mean"
            yield one, f"{winner.ngram!r} {how} {name} ({winner.score:.2f})"


def _mapped(one: Candidate, vocabulary: Vocabulary, method: str) -> Mapped:
    return Mapped(vocabulary.keywords[one.number], one.ngram, one.score, method, one.spelling)
