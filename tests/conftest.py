"""Before anything loads NumPy: threads of its BLAS that have nothing to do give way soon, as in karat's own commands.

By default they wait for more work on a core each, and with a worker of pytest a core that is time taken from another's
tests. How many there are, and so every digit, stays as it is.
"""

import gc
import os

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every search for garbage.

    Libraries such as irspack and statsmodels search in every call, which takes a second among all that is collected.
    """
    gc.collect()
    gc.freeze()
