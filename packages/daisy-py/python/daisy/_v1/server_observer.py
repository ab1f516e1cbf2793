"""``daisy.server_observer`` of daisy 1.x."""

from daisy._compat.server import ServerObservee, ServerObserver
from daisy._compat.warn import warn_of_former

__all__ = ["ServerObservee", "ServerObserver"]

warn_of_former("the module daisy.server_observer", "run_blockwise(..., progress=observer)")
