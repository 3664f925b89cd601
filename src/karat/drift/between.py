"""Two reports → Drift."""

from collections.abc import Mapping

from karat.arguments import check_arguments
from karat.drift.churn import Churn, churn_between
from karat.drift.circumstances import changes_of
from karat.drift.moves import ALLOWED, moves_between
from karat.drift.pairs import Tested, compare_quality, compare_stability
from karat.drift.value import Drift
from karat.errors import DataError, UnknownName, UsageError
from karat.saved import Saved
from karat.stability import Stability
from karat.statistics.comparison import correct

__all__ = ["drift_between", "systems_in_both"]


@check_arguments
def drift_between(
    new: Saved, old: Saved, *, system: str | None = None, old_system: str | None = None, allowed: float = ALLOWED
) -> Drift:
    """Hold a system of a report against an earlier report; the only one, or that of the same name, unless named."""
    for one in (new, old):
        if not isinstance(one, Saved):
            raise UsageError(
                f"found a report of type {type(one).__name__}",
                expected="saved reports: karat.saved.Saved(report.to_json(queries=True))",
            )
    if not allowed >= 0:
        raise UsageError(f"a change of {allowed} is allowed", expected="a share such as 0.05, for 5 %")
    name = _choose(new, system, None)
    old_name = _choose(old, old_system, name)
    ours, theirs = _stability(new, name), _stability(old, old_name)
    if ours.k != theirs.k:
        raise DataError(
            f"the stability is over the first {ours.k} items here and the first {theirs.k} in {old.source}",
            where=new.source,
            expected="the same k in both reports",
        )
    how, where = new.how, f"{new.source} × {old.source}"
    paired, notes = compare_stability((name, old_name), ours, theirs, how, where)
    quality, more_notes = compare_quality(new, name, old, old_name, how)
    tested = [Tested(one, how.level) for one in correct([*paired, *quality])]
    churn = _churn(new, name, old, old_name, ours.k)
    if churn is None:
        more_notes.append("rank churn is not known: the reports do not hold the first items of the same queries")
    return Drift(
        *(name, old_name, new.source, old.source, ours.k, allowed),
        moved=tuple(moves_between(ours, theirs, allowed)),
        tested=tuple(tested[: len(paired)]),
        quality=tuple(tested[len(paired) :]),
        churn=churn,
        circumstances=changes_of(old, old_name, new, name),
        notes=(*notes, *more_notes),
    )


def systems_in_both(new: Saved, old: Saved) -> list[str]:
    """The systems whose stability both reports hold under one name."""
    return [name for name in _with_stability(new) if name in _with_stability(old)]


def _with_stability(saved: Saved) -> list[str]:
    return [name for name, entry in saved.systems.items() if entry.get("stability")]


def _choose(saved: Saved, named: str | None, alike: str | None) -> str:
    """The system that is named, that is called alike, or the only one whose stability is known."""
    if named is not None:
        if named not in saved.systems:
            raise UnknownName("system", named, saved.systems, where=saved.source)
        return named
    if alike is not None and alike in saved.systems:
        return alike
    known = _with_stability(saved) or list(saved.systems)
    if len(known) > 1:
        raise UsageError(
            f"there are several systems: {', '.join(known)}",
            where=saved.source,
            expected=f"one, or one called {alike}" if alike else "one",
            hint="Name it with --system.",
        )
    return known[0]


def _stability(saved: Saved, system: str) -> Stability:
    form = saved.systems[system].get("stability")
    if not form:
        raise DataError(
            f"the report holds no stability of {system}",
            where=saved.source,
            expected="similarities of the first items and lengths of vectors",
            hint="karat run records them of systems that search vectors: make the report again with such a plan.",
        )
    return Stability.from_json(form, f"{saved.source}, {system}")


def _churn(new: Saved, system: str, old: Saved, old_system: str, k: int) -> Churn | None:
    ours, theirs = _tops(new, system), _tops(old, old_system)
    ids = sorted(set(ours) & set(theirs))
    return churn_between([theirs[id_] for id_ in ids], [ours[id_] for id_ in ids], ids, k=k)


def _tops(saved: Saved, system: str) -> Mapping[str, list[str]]:
    """The first items by query; nothing where the report does not hold them."""
    queries = saved.form.get("queries") or {}
    tops = (queries.get("top") or {}).get(system) or []
    if tops and len(tops) != len(queries["ids"]):
        raise DataError(f"there are not as many first items of {system} as queries", where=saved.source)
    return dict(zip(queries["ids"], tops, strict=True)) if tops else {}
