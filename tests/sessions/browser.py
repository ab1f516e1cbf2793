"""A browser to look at pages with."""

from __future__ import annotations

import os
import shutil

import nox

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser() -> str | None:
    """Return the path of a browser, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def install_browser(session: nox.Session) -> str | None:
    """Install chromium where that needs neither a password nor long; return its path if it is there."""
    if shutil.which("apt-get") is None or getattr(os, "geteuid", lambda: -1)() != 0:
        return None
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        # Without network it fails, and on a slow one it is given up: pages are looked at elsewhere then.
        command = ["timeout", "150", "apt-get", "--quiet=2", *step]
        session.run(*command, external=True, env=env, success_codes=range(256))
    return find_browser()
