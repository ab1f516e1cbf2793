"""Settings of Sphinx: pages in Markdown, the API from the docstrings of the installed daisy."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(Path(__file__).parent))

import generate  # noqa: E402 - lies beside this file

project = "daisy"
author = "The daisy developers"
project_copyright = author
release = version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"][
    "version"
]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "generated"]
templates_path: list[str] = []
html_static_path = ["_static"]
html_css_files = ["daisy.css"]

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp"
copybutton_prompt_text = "$ "

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = True  # the docstrings of the extension, which show in help()
# Annotations name types of other projects, whose inventories a build without network cannot fetch.
nitpick_ignore_regex = [(r"py:.*", r"(?!daisy\.[a-z]).*")]

html_theme = "furo"
html_title = f"daisy {release}"
html_favicon = "_static/logo.svg"
html_logo = "_static/logo.svg"
html_theme_options = {
    "source_repository": "https://github.com/daisy-blockwise/daisy",
    "source_branch": "main",
    "source_directory": "docs/",
}

generate.write_pages(Path(__file__).parent / "generated")
