"""Before anything loads NumPy and Polars: with a worker of pytest a core, threads are time taken from another's tests.

Those of BLAS that have nothing to do give way soon, as in rankjury's own commands; by default they wait for more work
on a core each. How many there are, and so every digit, stays as it is. Polars and rankjury's own have one in each
worker. Tests of what threads change ask for theirs.
"""

import gc
import os
import signal

from hypothesis import settings

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("POLARS_MAX_THREADS", "RANKJURY_THREADS"):
        os.environ.setdefault(name, "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background of a shell; programs inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLES = 100 if os.environ.get("RANKJURY_THOROUGH") else 50
settings.register_profile("rankjury", deadline=None, max_examples=EXAMPLES)  # a busy machine must not fail a test
settings.load_profile("rankjury")


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every search for garbage.

    Libraries such as irspack and statsmodels search in every call, which takes a second among all that is collected.
    """
    gc.collect()
    gc.freeze()
