"""Every metric written out by its definition on one query's lists: slow, plain, independent of rankjury's arrays."""

from math import exp2, log2

Grades = dict[str, float]


def is_relevant(grade: float, rel: float | None) -> bool:
    return grade > 0 if rel is None else grade >= rel


def relevant(gold: Grades, rel: float | None) -> set[str]:
    return {item for item, grade in gold.items() if is_relevant(grade, rel)}


def top(ranking: list[str], k: int | None) -> list[str]:
    return ranking if k is None else ranking[:k]


def precision(gold: Grades, ranking: list[str], k: int | None, over: str = "k", rel: float | None = None) -> float:
    shown = top(ranking, k)
    hits = len(relevant(gold, rel) & set(shown))
    by = {"k": len(shown) if k is None else k, "relevant": len(relevant(gold, rel)), "retrieved": len(shown)}[over]
    return hits / by if by else 0.0


def recall(gold: Grades, ranking: list[str], k: int | None, over: str = "relevant", rel: float | None = None) -> float:
    shown = top(ranking, k)
    wanted = relevant(gold, rel)
    size = len(shown) if k is None else k
    by = {"relevant": len(wanted), "k": size, "min": min(size, len(wanted))}[over]
    return len(wanted & set(shown)) / by if by else 0.0


def f1(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    p, r = precision(gold, ranking, k, rel=rel), recall(gold, ranking, k, rel=rel)
    return 2 * p * r / (p + r) if p + r else 0.0


def hit_rate(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    return float(bool(relevant(gold, rel) & set(top(ranking, k))))


def r_precision(gold: Grades, ranking: list[str], k: int | None, times: float = 1, rel: float | None = None) -> float:
    size = len(relevant(gold, rel))
    cut = size if times == 1 else int(times * size + 0.9)
    return len(relevant(gold, rel) & set(ranking[:cut])) / cut if cut else 0.0


def set_ap(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    return precision(gold, ranking, None, rel=rel) * recall(gold, ranking, None, rel=rel)


def rr(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    wanted = relevant(gold, rel)
    return next((1 / rank for rank, item in enumerate(top(ranking, k), 1) if item in wanted), 0.0)


def ap(gold: Grades, ranking: list[str], k: int | None, over: str = "relevant", rel: float | None = None) -> float:
    wanted, found, total = relevant(gold, rel), 0, 0.0
    for rank, item in enumerate(top(ranking, k), 1):
        if item in wanted:
            found += 1
            total += found / rank
    size = len(ranking) if k is None else k
    most = min(size, len(wanted))
    by = {"relevant": len(wanted), "found": found, "min": most, "least": min(most, len(ranking))}[over]
    return total / by if by else 0.0


def gm_ap(gold: Grades, ranking: list[str], k: int | None, over: str = "relevant", rel: float | None = None) -> float:
    return ap(gold, ranking, k, over, rel)


def iprec(
    gold: Grades, ranking: list[str], k: int | None, at: float = 0.5, round: str = "up", rel: float | None = None
) -> float:
    wanted = relevant(gold, rel)
    need = int(at * len(wanted) + {"up": 0.9, "nearest": 0.5}[round])
    best, found = 0.0, 0
    for rank, item in enumerate(ranking, 1):
        found += item in wanted
        if found >= need:
            best = max(best, found / rank)
    return best


def iprec_mean(gold: Grades, ranking: list[str], k: int | None, round: str = "up", rel: float | None = None) -> float:
    return sum(iprec(gold, ranking, None, tenth / 10, round, rel) for tenth in range(11)) / 11


def inf_ap(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    good = bad = pooled = 0
    total = 0.0
    for above, item in enumerate(ranking):
        if item not in gold:
            continue
        if is_relevant(gold[item], rel):
            share = (good + 0.00001) / (good + bad + 0.00002)
            judged = (good + bad + pooled) / above if above else 0.0
            total += 1.0 if above == 0 else 1 / (above + 1) + above / (above + 1) * judged * share
            good += 1
        elif gold[item] >= 0:
            bad += 1
        else:
            pooled += 1
    return total / len(relevant(gold, rel)) if relevant(gold, rel) else 0.0


def gain_of(grade: float, gain: str) -> float:
    return {"linear": grade, "exp": exp2(grade) - 1, "binary": 1.0}[gain]


def gains(grades: list[float], gain: str, discount: str, rel: float | None) -> float:
    return sum(
        gain_of(grade, gain) / log2(rank + 1 if discount == "next" else max(rank, 2))
        for rank, grade in enumerate(grades, 1)
        if grade > 0 and is_relevant(grade, rel)
    )


def dcg(
    gold: Grades,
    ranking: list[str],
    k: int | None,
    gain: str = "linear",
    discount: str = "next",
    rel: float | None = None,
) -> float:
    return gains([gold.get(item, 0) for item in top(ranking, k)], gain, discount, rel)


def ndcg(
    gold: Grades,
    ranking: list[str],
    k: int | None,
    gain: str = "linear",
    ideal: str = "k",
    discount: str = "next",
    rel: float | None = None,
) -> float:
    best = sorted(gold.values(), reverse=True)
    if ideal != "all":
        best = best[:k]
    if ideal == "retrieved":
        best = best[: len(ranking)]
    if ideal == "full":
        best = [max(gold.values())] * (len(ranking) if k is None else k)
    most = gains(best, gain, discount, rel)
    return dcg(gold, ranking, k, gain, discount, rel) / most if most else 0.0


def err(gold: Grades, ranking: list[str], k: int | None, max: float = 4, rel: float | None = None) -> float:
    total, reading = 0.0, 1.0
    for rank, item in enumerate(top(ranking, k), 1):
        grade = gold.get(item, 0)
        if grade > 0 and is_relevant(grade, rel):
            satisfied = (2**grade - 1) / 2**max
            total += reading * satisfied / rank
            reading *= 1 - satisfied
    return total


def rbp(
    gold: Grades, ranking: list[str], k: int | None, p: float = 0.8, gain: str = "binary", rel: float | None = None
) -> float:
    wanted = relevant(gold, rel)
    return (1 - p) * sum(
        {"binary": 1, "linear": gold[item], "share": gold[item] / max(gold.values())}[gain] * p ** (rank - 1)
        for rank, item in enumerate(top(ranking, k), 1)
        if item in wanted
    )


def bpref(
    gold: Grades, ranking: list[str], k: int | None, rel: float | None = None, negative: str = "unjudged"
) -> float:
    wanted = relevant(gold, rel)
    unwanted = {i for i, grade in gold.items() if i not in wanted and (grade >= 0 or negative == "judged")}
    above, total = 0, 0.0
    for item in ranking:
        if item in wanted:
            total += 1 - min(above, len(wanted)) / min(len(unwanted), len(wanted)) if above else 1.0
        above += item in unwanted
    return total / len(wanted) if wanted else 0.0


def gm_bpref(
    gold: Grades, ranking: list[str], k: int | None, rel: float | None = None, negative: str = "unjudged"
) -> float:
    return bpref(gold, ranking, k, rel, negative)


def judged(gold: Grades, ranking: list[str], k: int | None) -> float:
    shown = top(ranking, k)
    return sum(item in gold for item in shown) / len(shown) if shown else 0.0


def unjudged(gold: Grades, ranking: list[str], k: int | None, negative: str = "unjudged") -> float:
    shown = top(ranking, k)
    size = len(shown) if k is None else k
    judged = {item for item, grade in gold.items() if grade >= 0 or negative == "judged"}
    return sum(item not in judged for item in shown) / size if size else 0.0


def num_q(gold: Grades, ranking: list[str], k: int | None, missing: str = "zero") -> float:
    return 1.0


def num_ret(gold: Grades, ranking: list[str], k: int | None) -> float:
    return float(len(top(ranking, k)))


def num_rel(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None, missing: str = "zero") -> float:
    return float(len(relevant(gold, rel)))


def num_rel_ret(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    return float(len(relevant(gold, rel) & set(top(ranking, k))))


def hit_count(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    return num_rel_ret(gold, ranking, k, rel)


def num_nonrel_ret(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    return float(sum(gold.get(i, -1) >= 0 and not is_relevant(gold[i], rel) for i in top(ranking, k)))


def utility(gold: Grades, ranking: list[str], k: int | None, rel: float | None = None) -> float:
    hits = num_rel_ret(gold, ranking, k, rel)
    return hits - (num_ret(gold, ranking, k) - hits)


def rbo(gold: Grades, ranking: list[str], k: int | None, p: float = 0.9, tail: str = "extrapolate") -> float:
    """Equation 32 of Webber et al., depth by depth."""
    left, right = top(ranking, k), top(sorted(gold, key=lambda item: -gold[item]), k)
    short, long = sorted((len(left), len(right)))
    if short == 0:
        return 0.0

    def overlap(depth: int) -> int:
        return len(set(left[:depth]) & set(right[:depth]))

    scale = (1 - p) / p
    first = sum(overlap(d) / d * p**d for d in range(1, long + 1))
    if tail == "none":
        return scale * first
    second = sum(overlap(short) * (d - short) / (short * d) * p**d for d in range(short + 1, long + 1))
    last = ((overlap(long) - overlap(short)) / long + overlap(short) / short) * p**long
    return scale * (first + second) + last
