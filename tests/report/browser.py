# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Looks at reports in a real browser: ``python tests/report/browser.py [--output DIR] [--document FILE]``.

Renders documents of the recorded fleet (synthesised, see example.py; one small and one of 1,000 hosts), audits of a few
workloads and of 500, and cablings of 20 and of 400 nodes. Opens them in Chromium by file name, as wide as on a desk and
on a telephone, in light and in dark, and fails where the page is wider than the window, a text leaves its box, a
contrast is below 4.5 to 1, the console has errors or anything is asked of the network; where a table that goes on does
not say so, a host or workload is not found by its name, or a link does not lead to something to be seen. Screenshots
and PDFs go to build/report.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
from pathlib import Path
from typing import Any, Iterator

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "build" / "collections"), str(CHECKOUT / "tests" / "fleet")]

import expand

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.check import Cabling
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import document as audit_document
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.audit import page as audit_page
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats import cabling
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.formats.html import html
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.text import read
from ansible_collections.zerocopy.rdma.tests.report.chromium import Browser, BrowserError, browser
from ansible_collections.zerocopy.rdma.tests.report.example import RECORDED, SMALL, example
from ansible_collections.zerocopy.rdma.tests.unit._fabric.site import rail_optimised
from ansible_collections.zerocopy.rdma.tests.unit._migrate import audit_manifests

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
LARGE = {"h100": 600, "a100": 300, "v100": 98, "lab": 2}
# Chromium draws no picture that is higher.
_HIGHEST = 16000

# Folded parts are opened, so that they are looked at as well.
_OPEN = "document.querySelectorAll('details').forEach(one => { one.open = true })"
_WIDER = "Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)"
_LEAVES = """
[...document.querySelectorAll('svg g')].flatMap(group => {
  const box = group.querySelector('rect').getBBox()
  return [...group.querySelectorAll('text')].filter(text => {
    const own = text.getBBox()
    return own.x < box.x || own.x + own.width > box.x + box.width
  }).map(text => text.textContent.trim())
}).concat([...document.querySelectorAll('svg g')].filter(group => {
  const [left, right] = [...group.querySelectorAll('.low, .near')].map(text => text.getBBox())
  return right && left.x + left.width + 6 > right.x
}).map(group => group.textContent.trim()))
"""
_UNMARKED = """
[...document.querySelectorAll('.scroll')].filter(box => (box.scrollWidth > box.clientWidth + 1) !== (
  getComputedStyle(box, '::before').content !== 'none')).map(box => box.getAttribute('aria-label'))
"""
# What the field for hosts leaves of the page for the last host that has findings, and after it was emptied again.
_FIND = """
(() => {
  const field = document.querySelector('.find input')
  const type = text => { field.value = text; field.dispatchEvent(new Event('input', {bubbles: true})) }
  const seen = selector => [...document.querySelectorAll(selector)].filter(one => one.checkVisibility())
  const all = seen('.finding').length
  const rows = [...document.querySelectorAll('tr[data-host]')].filter(row => row.querySelector('a[href^="#finding"]'))
  if (!rows.length) return []
  const row = rows[rows.length - 1], name = row.dataset.host
  type(name.toUpperCase())
  const problems = []
  const hosts = seen('tr[data-host]').map(one => one.dataset.host)
  if (hosts.join() !== name) problems.push(`the field shows ${hosts} for ${name}`)
  const links = [...row.querySelectorAll('a')].map(link => document.querySelector(link.getAttribute('href')))
  if (!links.every(one => one && one.checkVisibility())) problems.push(`a finding or the drawing of ${name} is hidden`)
  const others = seen('#findings > .finding').filter(one => ![one, ...one.querySelectorAll('[id]')].some(
    part => links.includes(part)))
  if (others.length) problems.push(`findings of others than ${name} are shown: ${others.map(one => one.id)}`)
  type('')
  if (seen('.finding').length !== all) problems.push('not all findings come back')
  return problems
})()
"""
_LEADS_NOWHERE = """
(() => {
  document.querySelectorAll('details').forEach(one => { one.open = false })
  const link = document.querySelector('details.hostlist tr[id]')
  if (!link) return []
  location.hash = link.id
  return new Promise(done => addEventListener('hashchange', () => done(link.checkVisibility() ? [] : [link.id])))
})()
"""
# WCAG 2.2, relative luminance and contrast ratio.
_PALE = """
(() => {
  const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return {rgb: n.slice(0, 3), a: n[3] ?? 1} }
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      if (at.tagName === 'g') return parse(getComputedStyle(at.querySelector('rect')).fill).rgb
      const own = parse(getComputedStyle(at).backgroundColor)
      if (own.a > 0) return own.rgb
    }
    return parse(getComputedStyle(document.body).backgroundColor).rgb
  }
  const found = {}
  for (const node of document.querySelectorAll('body *')) {
    if (node.tagName === 'title') continue
    if (![...node.childNodes].some(one => one.nodeType === 3 && one.textContent.trim())) continue
    const style = getComputedStyle(node)
    const ink = parse(node.closest('svg') ? style.fill : style.color).rgb
    const [low, high] = [light(ink), light(behind(node))].sort((a, b) => a - b)
    const ratio = (high + 0.05) / (low + 0.05)
    if (ratio < 4.5) found[`${node.tagName}.${node.getAttribute('class') ?? ''}`] = ratio.toFixed(2)
  }
  return Object.entries(found).map(([what, ratio]) => `${what} ${ratio}`)
})()
"""


def documents(output: Path) -> dict[str, Any]:
    facts = {}
    for name in sorted({name for names in RECORDED.values() for name in names}):
        root = output / "nodes" / name
        expand.write(expand.load(expand.NODES / f"{name}.yml"), root)
        facts[name] = gather.gather(str(root))
    return {"small": example(facts.__getitem__, SMALL), "large": example(facts.__getitem__, LARGE)}


def _cabled(units: int) -> Cabling:
    """Synthesised units of ten nodes, with faults in two of them."""
    site = rail_optimised(units, 10, rails=8)
    site.swap("h100-014", 0, 1)
    site.unplug("h100-003", 3)
    site.move("h100-007", 8, "leaf-2")
    return site.check()


def pages(output: Path) -> dict[str, str]:
    """All pages by name."""
    found = {}
    for name, document in documents(output).items():
        (output / f"{name}.json").write_text(json.dumps(document, indent=1), "utf-8")
        found[name] = html(read(document))
    for name, items in (("audit", audit_manifests.objects()), ("audit-500", audit_manifests.deployments(500))):
        found[name] = audit_page.html(audit_document.read(audit_manifests.audited(items)), "2026-11-20 10:00 UTC")
    for name, units in (("cabling", 2), ("cabling-400", 40)):
        found[name] = cabling.html(_cabled(units), ["h100-003 could not read the fabric of mlx5_0/1"], "0.1.0")
    return found


def _events(page: Browser, address: str) -> Iterator[str]:
    for event in page.events:
        method, found = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent" and found["request"]["url"] != address:
            if not found["request"]["url"].startswith("data:"):
                yield f"asks the network for {found['request']['url']}"
        elif method == "Runtime.exceptionThrown":
            yield f"exception: {found['exceptionDetails']['text']}"
        elif method == "Log.entryAdded" and found["entry"]["level"] in ("error", "warning"):
            yield f"console: {found['entry']['text']}"
        elif method == "Runtime.consoleAPICalled":
            yield f"console: {found['type']}"


def _picture(page: Browser, path: Path, width: int) -> None:
    height = min(_HIGHEST, int(page.evaluate("document.documentElement.scrollHeight")))
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    answer = page.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(answer["data"]))


def look(page: Browser, report: Path, width: int, scheme: str) -> list[str]:
    """Opens a report, takes its picture, and tells what is wrong with it."""
    address = report.resolve().as_uri()
    page.events.clear()
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.call("Page.navigate", url=address)
    page.event("Page.loadEventFired")
    _picture(page, report.with_name(f"{report.stem}-{width}-{scheme}.png"), width)
    page.evaluate(_OPEN)
    problems = list(_events(page, address))
    wider = page.evaluate(_WIDER)
    if wider:
        problems.append(f"is {wider} px wider than the window")
    problems += [f"text leaves its box: {' '.join(text.split())}" for text in page.evaluate(_LEAVES)]
    problems += [f"contrast below 4.5: {text}" for text in page.evaluate(_PALE)]
    problems += [f"nothing says whether the table goes on: {name}" for name in page.evaluate(_UNMARKED)]
    problems += page.evaluate(_FIND)
    problems += [f"a link leads to what is folded: {name}" for name in page.evaluate(_LEADS_NOWHERE)]
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description="Look at reports in Chromium.")
    parser.add_argument("--output", type=Path, default=CHECKOUT / "build" / "report", metavar="DIR")
    parser.add_argument(
        "--document", type=Path, metavar="FILE", help="a verify.json to look at instead of the examples"
    )
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.document:
        shown = {options.document.stem: html(read(json.loads(options.document.read_text("utf-8"))))}
    else:
        shown = pages(options.output)
    failed = False
    try:
        with browser() as page:
            for name, text in shown.items():
                report = options.output / f"{name}.html"
                report.write_text(text, "utf-8")
                for width, scheme in ((width, scheme) for width in WIDTHS for scheme in SCHEMES):
                    start = time.monotonic()
                    problems = look(page, report, width, scheme)
                    failed = failed or bool(problems)
                    print(f"{report.name:<14} {width:>4} px {scheme:<5} {time.monotonic() - start:4.1f} s", end="  ")
                    print("ok" if not problems else "\n    ".join(["", *problems]))
                printed = page.call("Page.printToPDF", printBackground=True)["data"]
                report.with_suffix(".pdf").write_bytes(base64.b64decode(printed))
    except BrowserError as error:
        print(f"browser.py: {error}", file=sys.stderr)
        return 1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
