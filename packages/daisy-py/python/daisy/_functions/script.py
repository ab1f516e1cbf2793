"""A script imported anew in a worker, without what it would start."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types

NAME = "__daisy_main__"


class RunReached(BaseException):
    """The script came to the run that this worker is part of: nothing below may run again."""


def load(path: str) -> types.ModuleType:
    """The script at ``path`` as a module, run up to its first call of ``run_blockwise``.

    ``if __name__ == "__main__"`` is false in it. A script without that guard is stopped where it would begin
    the run once more.
    """
    loaded = sys.modules.get(NAME)
    if loaded is not None:
        return loaded
    loader = importlib.machinery.SourceFileLoader(NAME, path)
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    if spec is None:
        raise ImportError(f"the script {path} cannot be imported", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    global _loading  # noqa: PLW0603 - asked by run_blockwise, which the script calls
    _loading = True
    try:
        loader.exec_module(module)
    except RunReached:
        pass
    except BaseException:
        del sys.modules[NAME]
        raise
    finally:
        _loading = False
    return module


_loading = False


def stop_if_loading() -> None:
    """Stop the script if it is only being imported by a worker.

    Raises:
        RunReached: If so.
    """
    if _loading:
        raise RunReached
