# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Makes the picture of the report in docs/prove.md: ``python tests/report/picture.py [--output FILE]``.

The report is the synthesised example (example.py), as its reader sees it first on a desk, in light.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "build" / "collections"), str(CHECKOUT / "tests" / "fleet")]

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read
from ansible_collections.zerocopy.rdma.tests.report.browser import documents
from ansible_collections.zerocopy.rdma.tests.report.chromium import Browser, BrowserError, browser

PICTURE = CHECKOUT / "docs" / "report.png"
WIDTH = 1280
LARGEST = 200_000

# Where the second finding ends, before the next begins.
_BOTTOM = "document.querySelectorAll('#findings > .finding')[1].getBoundingClientRect().bottom + scrollY + 8"


def taken(page: Browser, report: Path) -> bytes:
    page.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=900, deviceScaleFactor=1, mobile=False)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    page.call("Page.navigate", url=report.as_uri())
    page.event("Page.loadEventFired")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": int(page.evaluate(_BOTTOM)), "scale": 1}
    answer = page.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    return base64.b64decode(answer["data"])


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the picture of the report.")
    parser.add_argument("--output", type=Path, default=PICTURE, metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "verify.html")
        report.write_text(html(read(documents(Path(directory))["small"])), "utf-8")
        try:
            with browser() as page:
                picture = taken(page, report)
        except BrowserError as error:
            print(f"picture.py: {error}", file=sys.stderr)
            return 1
    if len(picture) > LARGEST:
        print(f"picture.py: {len(picture)} bytes, at most {LARGEST} are wanted", file=sys.stderr)
        return 1
    options.output.write_bytes(picture)
    print(f"{options.output}: {len(picture)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
