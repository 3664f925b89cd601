"""Evaluator for the training of sentence-transformers: agreement with a reference model, in similarities and ranks.

    evaluator = ReferenceEvaluator(texts, reference_vectors, name="arxiv-validation")
    SentenceTransformerTrainer(model, args, train_dataset, evaluator=evaluator, …)

The trainer then logs ``eval_arxiv-validation_spearman_cosine``, ``eval_arxiv-validation_ndcg@10`` and so on, any of
which may be its ``metric_for_best_model``.
"""

import csv
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankjury.core.importing import missing_library
from rankjury.core.types import Matrix, Vectors, as_floats
from rankjury.errors import UnknownName
from rankjury.tracking.integrations import (
    LESS_IS_BETTER,
    ReferenceComparison,
    check_pairs,
    list_of_strings,
    match_reference,
    positive_integer,
)

try:
    try:
        from sentence_transformers.sentence_transformer.evaluation import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
            SentenceEvaluator,
        )
    except ImportError:  # where older releases have it
        from sentence_transformers.evaluation import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
            SentenceEvaluator,
        )
except ImportError as error:
    raise missing_library("sentence_transformers", "the evaluator for training") from error

logger = logging.getLogger(__name__)


class ReferenceEvaluator(SentenceEvaluator):  # type: ignore[misc, unused-ignore]
    """Agreement of the model in training with a reference: in similarities of text pairs, and in nearest neighbors.

    ``reference`` has a vector of the reference model for each text: a matrix with the texts' rows in their order; or
    ``rankjury.Vectors``, or a matrix with ``reference_ids``, whose rows are matched with ``ids``. ``pairs`` are
    (sentences1, sentences2, scores), the scores being similarities by the reference; without them ``n_pairs`` pairs of
    texts are sampled. ``n_samples`` is the number of texts that are queries, sampled by the seed; None: all. The
    reference's neighbors are found once, here, and invalid data raises an error here.

    ``primary_metric`` is ``spearman_cosine``, ``ndcg@10`` or another of the values; the attribute has the name in
    front. All values are NaN where the model returns a vector that has no direction; the log says for which texts.
    """

    def __init__(
        self,
        texts: Sequence[str],
        reference: Matrix | Vectors,
        *,
        ids: Sequence[Any] | None = None,
        reference_ids: Sequence[Any] | None = None,
        pairs: tuple[Sequence[str], Sequence[str], Sequence[float]] | None = None,
        n_pairs: int = 20_000,
        k_values: Sequence[int] = (1, 3, 5, 10),
        n_samples: int | None = None,
        seed: int = 0,
        primary_metric: str = "spearman_cosine",
        batch_size: int = 32,
        truncate_dim: int | None = None,
        name: str = "",
        write_csv: bool = True,
        show_progress_bar: bool = False,
    ) -> None:
        super().__init__()
        self.name, self.write_csv, self.show_progress_bar = name, write_csv, show_progress_bar
        self.batch_size = positive_integer(batch_size, "batch_size")
        self.truncate_dim = None if truncate_dim is None else positive_integer(truncate_dim, "truncate_dim")
        self.n_samples = n_samples
        strings = list_of_strings(texts, "texts")
        names, vectors = match_reference(len(strings), ids, reference, reference_ids)
        checked = None if pairs is None else check_pairs(pairs)
        self._comparison = ReferenceComparison(
            strings, names, vectors, k_values=k_values, pairs=checked, n_pairs=n_pairs, n_samples=n_samples, seed=seed
        )
        if primary_metric not in self._comparison.labels:
            raise UnknownName("figure", primary_metric, self._comparison.labels, where="primary_metric")
        self.primary_metric = f"{name}_{primary_metric}" if name else primary_metric
        self.greater_is_better = primary_metric not in LESS_IS_BETTER
        self.csv_file = f"rankjury_evaluation_{name.replace('/', '_')}{'_' if name else ''}results.csv"
        self.csv_headers = ["epoch", "steps", *self._comparison.labels]

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return the values by name; with ``output_path``, append them to the CSV file there."""
        vectors = np.asarray(self.embed_inputs(model, self._comparison.sentences))
        figures = self._comparison.figures(as_floats(vectors, "the model"))
        after = "" if epoch == -1 else f" after epoch {epoch}" if steps == -1 else f" in epoch {epoch}, step {steps}"
        shown = ", ".join(f"{name} {value:.4f}" for name, value in figures.items())
        logger.info("ReferenceEvaluator %s%s: %s", self.name, after, shown)
        if output_path is not None and self.write_csv:
            self._append_row(Path(output_path), [epoch, steps, *figures.values()])
        metrics: dict[str, float] = self.prefix_name_to_metrics(figures, self.name)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        return metrics

    def embed_inputs(self, model: Any, sentences: list[str], **options: Any) -> Any:
        """Return a vector for each sentence; to be overridden where a prompt or the like is needed."""
        if self.truncate_dim is not None:
            options["truncate_dim"] = self.truncate_dim
        return model.encode(
            sentences,
            batch_size=self.batch_size,
            show_progress_bar=self.show_progress_bar,
            convert_to_numpy=True,
            **options,
        )

    def _append_row(self, folder: Path, row: list[float]) -> None:
        """Append a row, after a header where the file has none yet, or its last one names other values."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / self.csv_file).open("a+", newline="", encoding="utf-8") as file:
            file.seek(0)
            headers = [cells for cells in csv.reader(file) if cells[:2] == self.csv_headers[:2]]
            writer = csv.writer(file)
            if headers[-1:] != [self.csv_headers]:
                writer.writerow(self.csv_headers)
            writer.writerow(row)

    @property
    def description(self) -> str:
        """Its name in model cards."""
        return "Agreement with a Reference"

    def get_config_dict(self) -> dict[str, Any]:
        """Its settings in model cards."""
        settings = {"truncate_dim": self.truncate_dim, "n_samples": self.n_samples}
        return {name: value for name, value in settings.items() if value is not None}
