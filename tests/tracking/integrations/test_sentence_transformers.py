"""The evaluator for training: what needs no library anywhere, the rest with a tiny model where the library is."""

import csv
import logging
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import kendalltau, pearsonr, spearmanr

import rankjury
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.retrieval.agreement.pairs import VectorSimilarities, sample_pairs
from rankjury.tracking.integrations import ReferenceComparison, check_pairs, list_of_strings, match_reference

Numbers = NDArray[np.float64]
LIBRARY = find_spec("sentence_transformers") is not None
needs_library = pytest.mark.skipif(not LIBRARY, reason="sentence-transformers (and torch) is not installed")
others_warnings = pytest.mark.filterwarnings("default")
"""torch, transformers and datasets warn of one another."""

N, WIDTH, WORDS = 30, 8, 60
K_VALUES = (1, 3, 5, 10)
VOCABULARY = [f"w{number}" for number in range(WORDS)]


def made_texts() -> list[str]:
    draw = np.random.default_rng(5)
    return [" ".join(draw.choice(VOCABULARY, size=4, replace=False)) for _ in range(N)]


def made_vectors(seed: int, width: int = WIDTH) -> Numbers:
    return np.random.default_rng(seed).normal(size=(N, width))


TEXTS = made_texts()
REFERENCE = made_vectors(1, 12)


# The spec, done plainly.


def cosines(vectors: Numbers) -> Numbers:
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


def first_k(similarities: Numbers, query: int, k: int) -> list[int]:
    order = [other for other in np.argsort(-similarities[query], kind="stable").tolist() if other != query]
    return order[:k]


def of_one_query(truth: list[int], found: list[int], k: int) -> dict[str, float]:
    hits = [item in truth for item in found]
    gains = [1 / np.log2(place + 2) for place in range(k)]
    precisions = [sum(hits[: place + 1]) / (place + 1) for place, hit in enumerate(hits) if hit]
    return {
        f"recall@{k}": sum(hits) / k,
        f"ndcg@{k}": sum(gain for gain, hit in zip(gains, hits, strict=True) if hit) / sum(gains),
        f"mrr@{k}": 1 / (hits.index(True) + 1) if any(hits) else 0.0,
        f"map@{k}": float(np.mean(precisions)) if precisions else 0.0,
    }


def plain_ranks(
    reference: Numbers, vectors: Numbers, queries: list[int], k_values: tuple[int, ...]
) -> dict[str, float]:
    ours, theirs = cosines(reference), cosines(vectors)
    figures = {}
    for k in k_values:
        each = [of_one_query(first_k(ours, query, k), first_k(theirs, query, k), k) for query in queries]
        figures |= {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    return figures


def plain_agreement(targets: Numbers, found: Numbers) -> dict[str, float]:
    return {
        "spearman_cosine": spearmanr(targets, found).statistic,
        "pearson_cosine": pearsonr(targets, found).statistic,
        "kendall_cosine": kendalltau(targets, found).statistic,
        "mae_cosine": np.mean(np.abs(targets - found)),
        "rmse_cosine": np.sqrt(np.mean((targets - found) ** 2)),
    }


def plain(reference: Numbers, vectors: Numbers) -> dict[str, float]:
    """Over all queries, and all pairs of two different texts."""
    apart = ~np.eye(N, dtype=bool)
    agreement = plain_agreement(cosines(reference)[apart], cosines(vectors)[apart])
    return agreement | plain_ranks(reference, vectors, list(range(N)), K_VALUES)


# Without the library.


def against(texts: Any = TEXTS, reference: Any = REFERENCE, **options: Any) -> ReferenceComparison:
    held = list_of_strings(texts, "texts")
    ids, vectors = match_reference(len(held), options.pop("ids", None), reference, options.pop("reference_ids", None))
    pairs = options.pop("pairs", None)
    settings = {"k_values": K_VALUES, "n_pairs": 20_000, "n_samples": None, "seed": 42} | options
    return ReferenceComparison(held, ids, vectors, pairs=None if pairs is None else check_pairs(pairs), **settings)


def in_a_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


def test_without_the_library_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['sentence_transformers'] = None\n"
        "import rankjury.tracking.integrations.sentence_transformers"
    )
    done = in_a_process(code)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("rankjury.errors.MissingExtra: ")
    assert "'sentence-transformers', which is not installed" in last
    assert last.endswith("pip install 'rankjury[sentence-transformers]'")


def test_what_needs_no_library_loads_none() -> None:
    code = (
        "import sys, rankjury.tracking.integrations\n"
        "sys.exit(any(m in sys.modules for m in ('sentence_transformers', 'torch')))"
    )
    done = in_a_process(code)
    assert done.returncode == 0, done.stderr


def test_figures_are_those_of_the_spec() -> None:
    vectors = made_vectors(2)
    assert against().figures(vectors) == pytest.approx(plain(REFERENCE, vectors), abs=1e-12)


def test_the_reference_agrees_with_itself() -> None:
    figures = against().figures(REFERENCE)
    errors = {"mae_cosine", "rmse_cosine"}
    assert figures == pytest.approx({name: float(name not in errors) for name in figures}, abs=1e-12)


def test_rows_are_matched_by_id() -> None:
    vectors, order = made_vectors(2), np.random.default_rng(3).permutation(N)
    ids = [f"paper-{number:02}" for number in range(N)]
    moved = [ids[row] for row in order]
    expected = against(ids=ids).figures(vectors)
    assert against(ids=ids, reference=REFERENCE[order], reference_ids=moved).figures(vectors) == expected
    given = rankjury.Vectors(pl.Series(moved), REFERENCE[order], "reference.npz")
    assert against(ids=ids, reference=given).figures(vectors) == expected
    assert against(ids=ids, reference=REFERENCE[order]).figures(vectors) != expected


def test_whole_number_ids_and_lists_will_do() -> None:
    vectors = made_vectors(2)
    expected = against().figures(vectors)
    assert against(ids=range(N), reference=REFERENCE.tolist()).figures(vectors) == expected
    assert against(ids=np.arange(N), reference_ids=[str(row) for row in range(N)]).figures(vectors) == expected


def test_a_sample_of_the_queries() -> None:
    vectors = made_vectors(2)
    held = against(n_samples=7)
    asked = [int(query) for query in held.gold.queries]
    assert len(asked) == 7
    figures = held.figures(vectors)
    ranked = plain_ranks(REFERENCE, vectors, asked, K_VALUES)
    assert {name: figures[name] for name in ranked} == pytest.approx(ranked, abs=1e-12)
    assert set(asked) <= {int(query) for query in against(n_samples=8).gold.queries}
    assert asked != [int(query) for query in against(n_samples=7, seed=1).gold.queries]


def test_pairs_are_drawn_as_everywhere_in_rankjury() -> None:
    vectors = made_vectors(2)
    ids = pl.int_range(N, eager=True).cast(pl.String)
    drawn = sample_pairs(ids, ids, 60, 7)
    assert len(drawn.queries) == 60
    ours, theirs = (VectorSimilarities(rankjury.Vectors(ids, one.copy())).of(drawn.queries, drawn.items) for one in
                    (REFERENCE, vectors))  # fmt: skip
    figures = against(n_pairs=60, seed=7).figures(vectors)
    expected = plain_agreement(ours, theirs)
    assert {name: figures[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert against(n_pairs=60, seed=8).figures(vectors)["mae_cosine"] != figures["mae_cosine"]


def test_pairs_that_are_given() -> None:
    """Of texts that are known and of others; each sentence is embedded once."""
    first, second, targets = [TEXTS[0], "w1 w2", TEXTS[3]], ["w7", TEXTS[4], "w7"], [0.5, -0.25, 0.75]
    held = against(pairs=(first, second, targets))
    assert held.sentences == [*TEXTS, "w1 w2", "w7"]
    vectors = np.random.default_rng(4).normal(size=(len(held.sentences), WIDTH))
    figures = held.figures(vectors)
    found = cosines(vectors)[[0, N, 3], [N + 1, 4, N + 1]]
    expected = plain_agreement(np.array(targets), found) | plain_ranks(REFERENCE, vectors[:N], list(range(N)), K_VALUES)
    assert figures == pytest.approx(expected, abs=1e-12)


def test_texts_that_stand_twice_share_a_vector_and_go_by_id(caplog: pytest.LogCaptureFixture) -> None:
    texts, reference = [*TEXTS[:6], TEXTS[0]], np.vstack([REFERENCE[:6], REFERENCE[0]])
    held = against(texts, reference, k_values=(1, 2))
    assert len(held.sentences) == 6
    assert "the reference's k-th and k+1-th score are equal" in caplog.text
    figures = held.figures(REFERENCE[:6])
    assert figures["recall@1"] == figures["map@2"] == 1.0


@pytest.mark.parametrize("number", [0.0, np.nan, np.inf])
def test_vectors_without_direction_make_figures_undefined(number: float, caplog: pytest.LogCaptureFixture) -> None:
    vectors, held = made_vectors(2), against()
    vectors[4] = number
    figures = held.figures(vectors)
    assert list(figures) == held.labels
    assert all(np.isnan(value) for value in figures.values())
    assert repr(TEXTS[4]) in caplog.text
    assert repr(TEXTS[5]) not in caplog.text


def test_the_callers_matrix_stays_writable() -> None:
    given = REFERENCE.copy()
    against(reference=given)
    given[0, 0] = 5.0


def with_nan() -> Numbers:
    vectors = REFERENCE.copy()
    vectors[3, 1] = np.nan
    return vectors


def with_zeros() -> Numbers:
    vectors = REFERENCE.copy()
    vectors[3] = 0.0
    return vectors


NAMES = [f"p{row}" for row in range(N)]
FAULTS: dict[str, tuple[dict[str, Any], type[RankjuryError], str]] = {
    "rows": ({"reference": REFERENCE[1:]}, DataError, "reference: found 30 texts and 29 rows; expected a row for each"),
    "no matrix": ({"reference": [[1.0], [1.0, 2.0]]}, DataError, "reference: cannot be read"),
    "shape": ({"reference": REFERENCE[:, 0]}, DataError, "found an array of shape 30 and type float64"),
    "NaN": ({"reference": with_nan()}, DataError, "NaN or infinite numbers in the vectors of 3;"),
    "NaN by id": (
        {"reference": rankjury.Vectors(pl.Series(NAMES), with_nan()), "ids": NAMES},
        DataError,
        "NaN or infinite numbers in the vectors of p3;",
    ),
    "zeros": ({"reference": with_zeros()}, DataError, "the vector of 3 is zero, which has no direction"),
    "ids twice": ({"ids": ["p1", *NAMES[1:]]}, DataError, "duplicate ids: p1;"),
    "few ids": ({"ids": NAMES[1:]}, DataError, "ids: found 30 texts and 29 ids"),
    "mixed ids": ({"ids": [1.5, *NAMES[1:]]}, DataError, "ids: cannot be read"),
    "other ids": (
        {"ids": NAMES, "reference_ids": ["q", *NAMES[1:]]},
        DataError,
        r"only in reference \(q\) and 1 id is",
    ),
    "ids of one": ({"reference_ids": NAMES}, DataError, "texts has no ids"),
    "ids twice over": (
        {"reference": rankjury.Vectors(pl.Series(NAMES), REFERENCE.copy()), "ids": NAMES, "reference_ids": NAMES},
        UsageError,
        "already contains ids",
    ),
    "k": ({"k_values": (1, 30)}, DataError, "the cut-off is 30, .*; expected cut-offs up to 29"),
    "k of zero": ({"k_values": (0, 1)}, UsageError, "a cut-off of k_values is 0; expected a whole number"),
    "k of a half": ({"k_values": (1.5,)}, UsageError, "a cut-off of k_values is 1.5"),
    "no k": ({"k_values": ()}, UsageError, "k_values: found none"),
    "sample": ({"n_samples": 31}, DataError, "a sample of 31 from 30; expected at most 30"),
    "no sample": ({"n_samples": 0}, UsageError, "a sample of 0"),
    "no pairs": ({"n_pairs": 0}, UsageError, "n_pairs is 0"),
    "two columns": ({"pairs": (["a"], ["b"])}, DataError, "pairs: cannot be read.*; expected three lists"),
    "uneven pairs": ({"pairs": (["a", "b"], ["b"], [1.0, 0.5])}, DataError, "2 and 1 sentences and 2 scores"),
    "few scores": ({"pairs": (["a", "b"], ["b", "c"], [1.0])}, DataError, "2 and 2 sentences and 1 scores"),
    "NaN score": ({"pairs": (["a", "b"], ["b", "c"], [1.0, np.nan])}, DataError, "the score of row 2 is nan"),
    "no words": ({"pairs": (["a", None], ["b", "c"], [1.0, 0.5])}, DataError, "sentences1: row 2 is None"),
    "one text": ({"texts": "w1 w2"}, DataError, "texts: found one string; expected a list of strings"),
    "no text": ({"texts": []}, DataError, "texts: found nothing"),
    "no string": ({"texts": [*TEXTS[1:], 5]}, DataError, "texts: row 30 is 5; expected strings"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found_at_once(fault: str) -> None:
    options, kind, message = FAULTS[fault]
    with pytest.raises(kind, match=message):
        against(**options)


# With the library.


@pytest.fixture
def evaluator_of() -> Any:
    from rankjury.tracking.integrations.sentence_transformers import ReferenceEvaluator

    return ReferenceEvaluator


def made_model(seed: int = 0, width: int = WIDTH) -> Any:
    """A bag of words: a random vector for each, nothing downloaded."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = ["[UNK]", *VOCABULARY]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.random.default_rng(seed).normal(size=(len(words), width)).astype(np.float32)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=weights)], device="cpu")


@needs_library
@others_warnings
@pytest.mark.parametrize("fault", FAULTS)
def test_the_constructor_refuses(fault: str, evaluator_of: Any) -> None:
    options, kind, message = FAULTS[fault]
    with pytest.raises(kind, match=message):
        evaluator_of(**{"texts": TEXTS, "reference": REFERENCE} | options)


@needs_library
@others_warnings
def test_the_constructor_refuses_options_of_its_own(evaluator_of: Any) -> None:
    with pytest.raises(UnknownName, match=r"primary_metric: unknown figure 'ndcg@7'"):
        evaluator_of(TEXTS, REFERENCE, primary_metric="ndcg@7")
    for option in ("batch_size", "truncate_dim"):
        with pytest.raises(UsageError, match=f"{option} is 0"):
            evaluator_of(TEXTS, REFERENCE, **{option: 0})


@needs_library
@others_warnings
def test_it_is_one_of_the_librarys_evaluators(evaluator_of: Any) -> None:
    from sentence_transformers.base.evaluation import SequentialEvaluator
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator

    evaluator, model = evaluator_of(TEXTS, REFERENCE, name="val"), made_model()
    assert isinstance(evaluator, SentenceEvaluator)
    assert (evaluator.name, evaluator.primary_metric) == ("val", "val_spearman_cosine")
    assert evaluator.greater_is_better is True
    both = SequentialEvaluator([evaluator, evaluator_of(TEXTS, REFERENCE, name="deep", primary_metric="ndcg@10")])(
        model
    )
    assert both["sequential_score"] == both["deep_ndcg@10"]
    assert evaluator_of(TEXTS, REFERENCE, primary_metric="mae_cosine").greater_is_better is False


@needs_library
@others_warnings
@pytest.mark.parametrize(("name", "front"), [("val", "val_"), ("", ""), ("spearman", "spearman_")])
def test_names_and_values(name: str, front: str, evaluator_of: Any) -> None:
    evaluator, model = evaluator_of(TEXTS, REFERENCE, name=name), made_model()
    metrics = evaluator(model)
    vectors = model.encode(TEXTS)
    expected = {front + figure: value for figure, value in plain(REFERENCE, vectors).items()}
    assert metrics == pytest.approx(expected, abs=1e-6)
    assert all(type(value) is float for value in metrics.values())
    assert evaluator.primary_metric == f"{front}spearman_cosine"
    assert evaluator.primary_metric in metrics
    assert model.model_card_data.eval_results_dict[evaluator] == metrics


@needs_library
@others_warnings
def test_correlations_are_those_of_the_librarys_own_evaluator(evaluator_of: Any) -> None:
    from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

    model = made_model()
    first, second = TEXTS[:20], TEXTS[10:]
    targets = cosines(REFERENCE)[np.arange(20), np.arange(10, 30)].tolist()
    theirs = EmbeddingSimilarityEvaluator(first, second, targets, name="val")(model)
    ours = evaluator_of(TEXTS, REFERENCE, pairs=(first, second, targets), name="val")(model)
    assert set(theirs) == {"val_spearman_cosine", "val_pearson_cosine"}
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, abs=1e-6)


@needs_library
@others_warnings
def test_truncated_dimensions(evaluator_of: Any) -> None:
    model = made_model()
    evaluator = evaluator_of(TEXTS, REFERENCE, truncate_dim=3)
    assert evaluator(model) == pytest.approx(plain(REFERENCE, model.encode(TEXTS)[:, :3]), abs=1e-6)
    assert evaluator(model) != evaluator_of(TEXTS, REFERENCE)(model)
    assert evaluator.get_config_dict() == {"truncate_dim": 3}


@needs_library
@others_warnings
def test_embedding_may_be_overridden(evaluator_of: Any) -> None:
    class Constant(evaluator_of):  # type: ignore[misc]
        def embed_inputs(self, model: Any, sentences: list[str], **options: Any) -> Any:
            return super().embed_inputs(model, ["w1 " + sentence for sentence in sentences], **options)

    model = made_model()
    expected = plain(REFERENCE, model.encode(["w1 " + text for text in TEXTS]))
    assert Constant(TEXTS, REFERENCE)(model) == pytest.approx(expected, abs=1e-6)


@needs_library
@others_warnings
def test_a_model_that_diverged_is_no_crash(evaluator_of: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = made_model()
    model[0].embedding.weight.data[:] = float("nan")
    metrics = evaluator_of(TEXTS, REFERENCE, name="val")(model)
    assert np.isnan(metrics["val_spearman_cosine"])
    assert "all figures are NaN" in caplog.text


@needs_library
@others_warnings
def test_the_csv(tmp_path: Path, evaluator_of: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    evaluator, model = evaluator_of(TEXTS, REFERENCE, name="val"), made_model()
    folder = tmp_path / "deep" / "eval"
    metrics = evaluator(model, str(folder), epoch=0, steps=5)
    evaluator(model, str(folder), epoch=1)
    assert "in epoch 0, step 5" in caplog.text
    assert "after epoch 1:" in caplog.text
    with (folder / "rankjury_evaluation_val_results.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["epoch", "steps", *(figure.removeprefix("val_") for figure in metrics)]
    assert [line[:2] for line in lines] == [["0", "5"], ["1", "-1"]]
    assert [float(number) for number in lines[1][2:]] == list(metrics.values())


@needs_library
@others_warnings
def test_the_csv_never_mixes_figures(tmp_path: Path, evaluator_of: Any) -> None:
    model = made_model()
    for k_values in ((1, 3), (1, 3), (2,), (2,)):
        evaluator_of(TEXTS, REFERENCE, k_values=k_values)(model, str(tmp_path))
    with (tmp_path / "rankjury_evaluation_results.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    assert [line[0] for line in lines] == ["epoch", "-1", "-1", "epoch", "-1", "-1"]
    assert "recall@2" in lines[3]
    evaluator_of(TEXTS, REFERENCE, write_csv=False, name="none")(model, str(tmp_path))
    evaluator_of(TEXTS, REFERENCE, name="arxiv/val")(model, str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {
        "rankjury_evaluation_results.csv",
        "rankjury_evaluation_arxiv_val_results.csv",
    }


def pairs_to_learn(*, upside_down: bool) -> Any:
    """All pairs, with the reference's cosines or with their opposites."""
    from datasets import Dataset

    sims = cosines(REFERENCE)
    rows, columns = np.triu_indices(N, 1)
    scores = sims[rows, columns] * (-1 if upside_down else 1)
    return Dataset.from_dict(
        {
            "sentence1": [TEXTS[row] for row in rows],
            "sentence2": [TEXTS[column] for column in columns],
            "score": scores.tolist(),
        }
    )


@needs_library
@others_warnings
@pytest.mark.slow
@pytest.mark.parametrize("upside_down", [False, True])
def test_a_training_keeps_the_best_model(upside_down: bool, tmp_path: Path, evaluator_of: Any) -> None:
    """Away from the reference, the first checkpoint is the best; towards it, the last."""
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    model, evaluator = made_model(), evaluator_of(TEXTS, REFERENCE, name="val")
    before = evaluator(model)["val_spearman_cosine"]
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path), max_steps=12, per_device_train_batch_size=32, learning_rate=0.05, use_cpu=True,
        eval_strategy="steps", eval_steps=4, save_strategy="steps", save_steps=4, load_best_model_at_end=True,
        metric_for_best_model="eval_val_spearman_cosine", greater_is_better=True, report_to="none", disable_tqdm=True,
        seed=1,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=pairs_to_learn(upside_down=upside_down),
        loss=CosineSimilarityLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    logged = [line for line in trainer.state.log_history if "eval_val_spearman_cosine" in line]
    assert [line["step"] for line in logged] == [4, 8, 12]
    assert "eval_val_ndcg@10" in logged[0]
    values = [line["eval_val_spearman_cosine"] for line in logged]
    assert values == sorted(values, reverse=upside_down)
    assert (values[-1] < before) if upside_down else (values[-1] > before)
    assert trainer.state.best_global_step == (4 if upside_down else 12)
    assert evaluator(trainer.model)["val_spearman_cosine"] == pytest.approx(max(values), abs=1e-6)
    with (tmp_path / "eval" / "rankjury_evaluation_val_results.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["steps"] for line in lines] == ["4", "8", "12"]
    assert [float(line["spearman_cosine"]) for line in lines] == pytest.approx(values)
    model.save_pretrained(str(tmp_path / "saved"))
    card = (tmp_path / "saved" / "README.md").read_text(encoding="utf-8")
    assert "Agreement with a Reference" in card
    assert "spearman_cosine" in card


@needs_library
@others_warnings
@pytest.mark.slow
def test_the_older_way_of_training(tmp_path: Path, evaluator_of: Any) -> None:
    """``model.fit`` saves the best model by the primary metric, of which less may be better."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss
    from sentence_transformers.sentence_transformer.readers import InputExample
    from torch.utils.data import DataLoader

    model, evaluator = made_model(), evaluator_of(TEXTS, REFERENCE, name="val", primary_metric="mae_cosine")
    before = evaluator(model)["val_mae_cosine"]
    examples = [
        InputExample(texts=[one["sentence1"], one["sentence2"]], label=one["score"])
        for one in pairs_to_learn(upside_down=False)
    ]
    seen: list[float] = []
    model.fit(
        [(DataLoader(examples, batch_size=64, shuffle=False), CosineSimilarityLoss(model))],
        evaluator=evaluator,
        epochs=3,
        warmup_steps=0,
        optimizer_params={"lr": 0.05},
        output_path=str(tmp_path),
        show_progress_bar=False,
        callback=lambda score, epoch, steps: seen.append(score),
    )
    assert len(seen) == 3
    assert min(seen) < before
    saved = SentenceTransformer(str(tmp_path), device="cpu", local_files_only=True)
    assert evaluator(saved)["val_mae_cosine"] == pytest.approx(min(seen), abs=1e-6)
