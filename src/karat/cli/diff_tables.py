"""Two runs held against each other, in a terminal."""

from collections.abc import Mapping
from textwrap import wrap

from karat.archive.comparing import Compared
from karat.archive.files import shown_time
from karat.archive.run import Run
from karat.changes import Change, Move
from karat.cli.fitting import print_fitting
from karat.reports.console import console
from karat.reports.digest import Names
from karat.reports.tables import tally, verdict_of
from karat.statistics.differences import Comparison
from karat.wording import count, decimals_of, difference_shown, figure_shown, p_shown, percent

__all__ = ["print_compared"]

_MARK = " "
_WORDS = {"better": "▲ better", "worse": "▼ worse", "noise": "≈ noise", "": ""}
_MOVES_SHOWN = 3
_LONGEST_NAME = 24
_CAUSES_SHOWN = 25


def print_compared(compared: Compared, baselines: Mapping[str, str]) -> None:
    """What changed, what came of it, the queries that lost most, verdicts."""
    for word, run in (("before", compared.before), ("after", compared.after)):
        mark = " (baseline)" if baselines.get(run.plan) == run.name else ""
        console().print(f"{word:<6}  {shown_time(run.time)}  {run.name}{mark}")
    print("\nWhat changed")
    causes = [str(one) for one in compared.changed]
    more = [f"… {len(causes) - _CAUSES_SHOWN} more: --json has them"] if len(causes) > _CAUSES_SHOWN else []
    for line in [*causes[:_CAUSES_SHOWN], *more] or ["nothing that is known of"]:
        _tell(line)
    _print_comparisons(compared)
    _print_losses(compared)
    if compared.verdicts:
        print("\nVerdicts")
        for one in compared.verdicts:
            was, now = (str(one[side] or "none") for side in ("before", "after"))
            part = f", {one['slice']}" if one["slice"] else ""
            _tell(f"{was} → {now}: {one['target']} {one['wanted']} ({one['system']}{part})")


def _tell(text: str, indent: str = "  ") -> None:
    screen = console()
    for line in wrap(text, screen.width, initial_indent=indent, subsequent_indent=f"{indent}  "):
        screen.print(line)


def _print_comparisons(compared: Compared) -> None:
    level = compared.how.level
    for label in dict.fromkeys(one.measure for one in compared.comparisons):
        held = [one for one in compared.comparisons if one.measure == label]
        header = [label, "before", "after", f"difference [{percent(level)}]", _MARK, "p", "+/=/−", "n"]
        styles = {(row, _MARK): verdict_of(one, level) for row, one in enumerate(held)}
        print()
        rows = [_row(one, level) for one in held]
        drop = ("n", "+/=/−", "p", _MARK)
        print_fitting(header, rows, text=(label, _MARK), drop=drop, folding=(label,), styles=styles)
    asked = compared.asked
    beside = [f"{asked[side]:,} only {side}" for side in ("before", "after") if asked[side]]
    over = f"{count(asked['common'], 'query', 'queries')} that both asked" + (
        f" ({', '.join(beside)})" if beside else ""
    )
    if compared.comparisons:
        _tell(f"paired over {over} · p: sign-flip test, Holm's correction", indent="")
    for line in compared.not_compared:
        _tell(line)


def _row(one: Comparison, level: float) -> list[str]:
    decimals = decimals_of(one.ci)
    known = one.n > 0
    return [
        one.system,
        figure_shown(one.baseline_mean, decimals) if known else "–",
        figure_shown(one.mean, decimals) if known else "–",
        difference_shown(one.difference, one.ci),
        _WORDS[verdict_of(one, level)] if one.whole or one.better or one.worse else "= same",
        p_shown(one.p_holm, at_floor=one.at_floor),
        "" if one.whole else f"{one.better}/{one.equal}/{one.worse}",
        f"{one.n:,}",
    ]


def _print_losses(compared: Compared) -> None:
    first = next((one.measure for one in compared.comparisons), None)
    for one in compared.comparisons:
        held = [loss for loss in compared.losses if loss.system == one.system]
        if one.measure != first or one.whole or not (one.better or one.worse):
            continue
        console().print(f"\n{tally(one)}" + ("; largest losses:" if held else ""))
        if held:
            names = _names(compared.after, held)
            header = ["query", "before → after", "change", "relevant items (grade): rank before → after"]
            print_fitting(
                header,
                [_loss(loss, names) for loss in held],
                text=(header[0], header[3]),
                folding=(header[0], header[3]),
            )


def _names(run: Run, losses: list[Change]) -> Names:
    """What queries and items are called."""
    return Names(run.texts(one.query for one in losses), run.names(move.item for one in losses for move in one.moves))


def _loss(one: Change, names: Names) -> list[str]:
    moved = sorted((move for move in one.moves if move.before != move.after), key=_prominence)
    told = [
        f"{_short(names.items.get(move.item, move.item))} ({move.grade:g}): {_rank(move.before)} → {_rank(move.after)}"
        for move in moved[:_MOVES_SHOWN]
    ]
    told += [f"{len(moved) - _MOVES_SHOWN} more"] if len(moved) > _MOVES_SHOWN else []
    return [
        _short(names.queries.get(one.query, one.query)),
        f"{one.before:.3f} → {one.after:.3f}",
        difference_shown(one.difference, None, decimals=3),
        ", ".join(told),
    ]


def _prominence(move: Move) -> tuple[int, float]:
    """Those that stood, or stand, highest come first."""
    return min(rank for rank in (move.before, move.after) if rank is not None), -move.grade


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1].rstrip()}…"
