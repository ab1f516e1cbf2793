"""Failures cost the same however workers start."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True, params=["fork", "spawn"] if sys.platform == "linux" else ["spawn"])
def _start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAISY_WORKER_START", request.param)
