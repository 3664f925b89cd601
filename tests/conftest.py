"""Before anything loads NumPy: threads of its BLAS that have nothing to do give way soon, as in karat's own commands.

By default they wait for more work on a core each, and with a worker of pytest a core that is time taken from another's
tests. How many there are, and so every digit, stays as it is.
"""

import os

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "14")
