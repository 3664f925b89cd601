"""Progress: labels, parts of longer work, functions of the caller, and the null object."""

from rankjury.core.progress import NO_PROGRESS, Progress


def test_labels_and_parts() -> None:
    shown: list[tuple[str, int, int]] = []
    progress = Progress(lambda *report: shown.append(report))
    progress.update("Searching", 1, 4)
    progress.step("Ranking bm25").update("Searching", 2, 4)
    progress.step("outer").step("inner").update("Searching", 3, 4)
    progress.part(10, 20).update("Searching", 3, 4)
    progress.part(10, 12).update("grown", 3, 4)
    progress.part(10, 20).step("Building").update("Searching", 4, 4)
    assert shown == [
        ("Searching", 1, 4),
        ("Ranking bm25", 2, 4),
        ("inner", 3, 4),
        ("Searching", 13, 20),
        ("grown", 13, 14),
        ("Building", 14, 20),
    ]


def test_what_a_caller_gives() -> None:
    shown: list[tuple[int, int]] = []
    Progress.of(lambda done, total: shown.append((done, total))).step("x").update("y", 1, 2)
    progress = Progress()
    assert shown == [(1, 2)] and Progress.of(progress) is progress and Progress.of(None) is NO_PROGRESS


def test_the_null_object_shows_nothing() -> None:
    for progress in (NO_PROGRESS, NO_PROGRESS.step("x"), NO_PROGRESS.part(1, 2)):
        progress.update("x", 1, 2)
        assert not progress.is_visible
    assert Progress(lambda *report: None).is_visible
