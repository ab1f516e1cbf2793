"""What happens before maturin is called."""

from __future__ import annotations

import os

__all__ = ["prepare_environment"]


def prepare_environment() -> None:
    """Settle the variables that maturin reads.

    maturin would download a toolchain where cargo is missing; that is the user's decision, not ours.
    """
    if os.environ.get("DAISY_BUILD_INSTALL_RUST") != "1":
        os.environ["MATURIN_NO_INSTALL_RUST"] = "1"
    # maturin warns when `build-backend` is not maturin itself; here that is on purpose.
    os.environ["MATURIN_NO_MISSING_BUILD_BACKEND_WARNING"] = "1"
