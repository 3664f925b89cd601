"""Makes rankjury's own recommenders known, in the order in which they are listed."""

# ruff: noqa: I001
from rankjury.recsys.models import popularity
from rankjury.recsys.models import neighbors as neighbours
from rankjury.recsys.models import factorization as factors
from rankjury.recsys.models import linear
from rankjury.recsys.models import factorization_machine as machines
from rankjury.recsys.models import content
from rankjury.recsys.models import hybrid
from rankjury.recsys.models import precomputed as given
from rankjury.recsys.models import function as called

__all__ = ["called", "content", "factors", "given", "hybrid", "linear", "machines", "neighbours", "popularity"]
