"""WordLlama: token vectors, averaged; the weights come with the library."""

import logging
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from rankjury.core.importing import import_optional, missing_library
from rankjury.errors import DataError
from rankjury.retrieval.embedding.models import MODELS, Float32Matrix


@MODELS.register("wordllama")
class WordLlamaModel:
    """WordLlama with its default configuration: 256 dimensions, not normalised."""

    name = "wordllama"

    @cached_property
    def version(self) -> str | None:
        """Version of the library, which contains the weights."""
        try:
            return version("wordllama")
        except PackageNotFoundError as error:
            raise missing_library("wordllama", "the model wordllama") from error

    @property
    def dimensions(self) -> int | None:
        return int(self._model.embedding.shape[1])

    def embed(self, texts: list[str]) -> Float32Matrix:
        # One by one: the library pads all texts to the longest, which takes twice the time.
        return np.asarray(self._model.embed(texts, batch_size=1), np.float32)

    @cached_property
    def _model(self) -> Any:
        root = logging.getLogger()
        handlers, level = list(root.handlers), root.level
        try:
            wordllama = import_optional("wordllama", "the model wordllama")
        finally:  # the library configures global logging
            root.handlers[:] = handlers
            root.setLevel(level)
        try:
            # The library searches its tokenizer in the cache only, although it contains it.
            folder = Path(wordllama.__file__).parent
            return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        except (OSError, ValueError) as error:
            raise DataError(
                f"cannot be loaded: {error}", where="wordllama", expected="weights in the library"
            ) from error
