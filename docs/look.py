"""Look at every built page in a browser: `python docs/look.py CHROMIUM HTML_FOLDER SCREENSHOTS`.

A page is at fault if something of it does not load, if its scripts complain, if a link within the
documentation leads nowhere, or if it is wider than the screen of a desktop or of a phone.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

from playwright.sync_api import Browser, ConsoleMessage, Page, Response, sync_playwright

SCREENS = {"desktop": (1280, 900), "phone": (390, 844)}
LINKS = "Array.from(document.querySelectorAll('a[href]'), a => a.href)"
ANCHORS = "Array.from(document.querySelectorAll('[id]'), e => e.id)"
TOO_WIDE = "document.documentElement.scrollWidth - window.innerWidth"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing about each request."""


def _listen(page: Page, faults: list[str]) -> None:
    """Note what the browser complains about."""

    def said(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            faults.append(f"{page.url}: console {message.type}: {message.text}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            faults.append(f"{page.url}: {response.url} answered {response.status}")

    page.on("console", said)
    page.on("response", answered)
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))


def look(browser: Browser, address: str, html: Path, shots: Path) -> list[str]:
    """Visit each page on each screen and return what is wrong."""
    faults: list[str] = []
    links: dict[str, set[str]] = {}
    anchors: dict[str, set[str]] = {}
    for screen, (width, height) in SCREENS.items():
        context = browser.new_context(viewport={"width": width, "height": height})
        page = context.new_page()
        _listen(page, faults)
        for file in sorted(html.rglob("*.html")):
            name = file.relative_to(html).as_posix()
            page.goto(f"{address}/{name}")
            if (excess := page.evaluate(TOO_WIDE)) > 0:
                faults.append(f"{name}: {excess} pixels wider than a {screen}")
            page.screenshot(path=shots / f"{screen}-{name.replace('/', '-')}.png")
            links[name] = {link for link in page.evaluate(LINKS) if link.startswith(address)}
            anchors[f"{address}/{name}"] = set(page.evaluate(ANCHORS))
        context.close()
    return faults + _broken(links, anchors, address, html)


def _broken(
    links: dict[str, set[str]], anchors: dict[str, set[str]], address: str, html: Path
) -> list[str]:
    """Return the links to pages, files or places on a page that are not there."""
    faults = []
    for name, targets in links.items():
        for target in sorted(targets):
            url, anchor = urldefrag(target)
            url = f"{url}index.html" if url.endswith("/") else url
            if not (html / unquote(url.removeprefix(f"{address}/")).split("?")[0]).exists():
                faults.append(f"{name}: the link to {target} leads nowhere")
            elif anchor and url in anchors and unquote(anchor) not in anchors[url]:
                faults.append(f"{name}: there is no place {target}")
    return faults


def main(chromium: str, folder: str, screenshots: str) -> int:
    """Return 1 if a page is at fault."""
    html, shots = Path(folder).resolve(), Path(screenshots)
    shots.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(html)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        # The sandbox needs what a container or root has not; the pages are our own.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        faults = look(browser, address, html, shots)
        browser.close()
    server.shutdown()
    print("\n".join(faults) or f"{len(list(html.rglob('*.html')))} pages looked at: nothing wrong")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
