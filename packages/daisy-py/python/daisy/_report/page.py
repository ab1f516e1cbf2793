"""The report as one HTML page with everything in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daisy._report.facts import check


def to_html(report: Mapping[str, Any]) -> str:
    """The page; it loads nothing when it is opened.

    Raises:
        ImportError: Plotly is not installed.
        ValueError: Not a report.
    """
    from importlib import resources  # noqa: PLC0415 - runs whose report is not asked for need it not

    check(report)
    files = resources.files("daisy._report")
    script, style = (files.joinpath(name).read_text("utf-8") for name in ("page.js", "page.css"))
    # Nothing in the data can end the element that holds it.
    data = json.dumps(report, allow_nan=False).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>daisy report</title>\n<style>\n{style}</style>\n"
        f"<script>{_plotly()}</script>\n</head>\n<body>\n<main></main>\n"
        f'<script type="application/json" id="report">{data}</script>\n'
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ImportError(
            "the HTML report needs Plotly, which is not installed: pip install 'daisy-py[report]'"
        ) from error
    script: str = get_plotlyjs()
    return script
