"""sentence-transformers models from a folder."""

import os
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rankjury.core.importing import import_optional
from rankjury.errors import DataError
from rankjury.retrieval.embedding.models import Float32Matrix

_SIGNS = ("modules.json", "config.json")
_EXPECTED = "a folder as SentenceTransformer.save leaves it"


class SentenceTransformerModel:
    """A model folder as written by ``SentenceTransformer.save``; its version is a hash of its files."""

    def __init__(self, folder: Path) -> None:
        if not any((folder / name).is_file() for name in _SIGNS):
            raise DataError(f"found no model: none of {', '.join(_SIGNS)}", where=str(folder), expected=_EXPECTED)
        self.folder = folder
        whole = folder.resolve()
        self.name = whole.name
        if whole.parent.name == "snapshots":  # in a model cache: models--maker--name/snapshots/hash
            self.name = whole.parent.parent.name.removeprefix("models--").replace("--", "/")

    @cached_property
    def version(self) -> str | None:
        """Hash of all files of the folder except hidden ones."""
        hasher = sha256()
        files = (path for path in self.folder.rglob("*") if path.is_file())
        named = {path.relative_to(self.folder).as_posix(): path for path in files}
        for name in sorted(name for name in named if not any(part.startswith(".") for part in name.split("/"))):
            with named[name].open("rb") as file:
                content = bytearray(1 << 20)
                hasher.update(f"{name}\0{named[name].stat().st_size}\0".encode())
                while size := file.readinto(content):
                    hasher.update(memoryview(content)[:size])
        return hasher.hexdigest()[:16]

    @property
    def dimensions(self) -> int | None:
        return None  # the method's name differs between releases; the first vector has the length

    def embed(self, texts: list[str]) -> Float32Matrix:
        found = self._model.encode(texts, batch_size=max(1, len(texts)), show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(found, np.float32)

    @cached_property
    def _model(self) -> Any:
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # rankjury shows its own progress
        library = import_optional("sentence_transformers", f"the model {self.name}")
        try:
            return library.SentenceTransformer(str(self.folder), local_files_only=True)
        except Exception as error:  # any exception that the library raises for a folder without a model
            reason = str(error).partition("\n")[0]
            problem = f"cannot be loaded as a sentence-transformers model: {reason}"
            raise DataError(problem, where=str(self.folder), expected=_EXPECTED) from error
