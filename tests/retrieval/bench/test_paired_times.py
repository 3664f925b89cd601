"""Which of two settings is quicker in paired rounds: by synthetic times whose truth is known."""

import numpy as np
import pytest

from rankjury.core.types import Floats
from rankjury.retrieval.bench.sweep_result import PAIRED_ROUNDS, PairedTimes, is_significantly_less, setting_key
from tests.retrieval.bench.support import point


def rounds(ms: float, rng: np.random.Generator, load: Floats, noise: float = 0.1) -> list[float]:
    found: list[float] = (ms * load * np.exp(noise * rng.normal(size=PAIRED_ROUNDS))).tolist()
    return found


class TestDecision:
    def test_a_setting_that_is_quicker_in_every_round_is_surely_quicker_under_any_load(self) -> None:
        rng = np.random.default_rng(0)
        load = rng.uniform(1, 10, PAIRED_ROUNDS)
        quick, slow = rounds(1.0, rng, load, 0.02), rounds(1.2, rng, load, 0.02)
        assert max(quick) > min(slow), "their values overlap"
        assert is_significantly_less(quick, slow)
        assert not is_significantly_less(slow, quick)

    def test_equal_values_and_a_few_per_cent_are_no_difference(self) -> None:
        one = [1.0] * PAIRED_ROUNDS
        assert not is_significantly_less(one, one)
        assert not is_significantly_less(one, [1.04] * PAIRED_ROUNDS)
        assert is_significantly_less(one, [1.06] * PAIRED_ROUNDS)

    def test_a_single_round_under_load_decides_nothing(self) -> None:
        one = [1.0] * PAIRED_ROUNDS
        assert not is_significantly_less(one, [*one[:-1], 1e6])
        assert not is_significantly_less([*one[:-1], 1e6], one)

    def test_more_rivals_need_more_evidence(self) -> None:
        slow = [1.2] * 12 + [0.95] * 3 + [0.85]
        assert is_significantly_less([1.0] * PAIRED_ROUNDS, slow)
        assert not is_significantly_less([1.0] * PAIRED_ROUNDS, slow, tests=10)
        assert is_significantly_less([1.0] * PAIRED_ROUNDS, [1.2] * PAIRED_ROUNDS, tests=1600)

    def test_the_best_of_equal_settings_is_called_sure_in_no_more_than_five_of_a_hundred(self) -> None:
        rng = np.random.default_rng(1)
        wrong = 0
        for _ in range(300):
            load = rng.uniform(1, 4, PAIRED_ROUNDS)
            settings = [rounds(1.0, rng, load) for _ in range(3)]
            best = min(settings, key=lambda values: float(np.log(values).mean()))
            wrong += all(is_significantly_less(best, other, 2) for other in settings if other is not best)
        assert wrong <= 15


class TestForm:
    def test_it_reads_back_what_it_wrote_and_finds_settings_by_their_parameters(self) -> None:
        times = PairedTimes((({"m": 8, "ef": 1}, {"reach": 9}), ({"m": 8}, {})), ((1.0, 4.0), (2.0, 3.0)), 5)
        assert PairedTimes.from_json(times.to_json()) == times
        assert times.to_json()["rounds"] == 2
        assert setting_key({"ef": 1, "m": 8}, {}) == setting_key({"m": 8, "ef": 1}, {})
        assert times.of(point(1.0, 1.0, reach=9)) is None
        assert times.mean(point(1.0, 1.0)) is None

    @pytest.mark.parametrize("values", [[1.0], [1.0, 0.0], [1.0, -1.0]])
    def test_a_round_without_a_time_is_refused(self, values: list[float]) -> None:
        form = {"rounds": 2, "asked": 5, "settings": [{"build": {}, "search": {}, "p95_ms": values}]}
        with pytest.raises(ValueError, match="a positive time for every round"):
            PairedTimes.from_json(form)
