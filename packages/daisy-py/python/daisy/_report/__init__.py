"""Reports of runs: a dictionary, a JSON file, and a page that needs nothing but a browser."""

from __future__ import annotations

from daisy._report.facts import REPORT_FILE, SCHEMA, build, to_json
from daisy._report.page import to_html

__all__ = ["REPORT_FILE", "SCHEMA", "build", "to_html", "to_json"]
