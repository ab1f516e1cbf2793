"""Names and numbers that more than one module uses."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

CONTEXT_VARIABLE: Final = "DAISY_CONTEXT"
"""Environment variable that carries the context of a worker."""

HOST_VARIABLE: Final = "DAISY_HOST"
"""Environment variable with the address to listen on, where ``host=`` is not given."""

ERROR_LINES: Final = 50
"""Most lines of an error text that travel; the whole of it is in the worker's log."""

ERROR_BYTES: Final = 8192
"""Most bytes of an error text that travel."""

THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Variables that limit the threads of numerical libraries; set for local workers unless the user did."""

CAPACITY: Final = 64
"""Most blocks that one worker holds at once, when they are short."""
