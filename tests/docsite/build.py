# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``python tests/docsite/build.py DIRECTORY``: the documentation as a site in ``DIRECTORY/html``; needs no network.

Pages are those of ``docs/``, in the order of ``docs/README.md``, and a reference of modules, filters and roles that
antsibull-docs generates. Fails on every warning of Sphinx, such as a link to nothing, and on what ``pages.py`` finds.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "build/collections"))

from ansible_collections.zerocopy.rdma.tests.docsite import pages

# Pages of the site.
_COPIED = ("README.md", "CONTRIBUTING.md")
# What pages link, file by file.
_LINKED = ("LICENSE", "inventory", "playbooks", "plugins", "roles", "tests")
_SECTION = re.compile(r"^## (.+)\n\n((?:.+\n)*)", re.MULTILINE)
_PAGE = re.compile(r"\(([\w-]+)\.md\)")
_DIAGRAM = re.compile(r"^```mermaid$", re.MULTILINE)
# The theme has the headings of each page beside it, and shows an error where a page lists them as well.
_HEADINGS = re.compile(r"^\.\. contents::\n(?:   :.*\n)+", re.MULTILINE)
_REDIRECT = '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/README.html">\n'


def sections(index: str) -> Iterator[tuple[str, list[str]]]:
    """The headings of ``docs/README.md`` that have a list of pages, and the first page that each line links."""
    for heading, lines in _SECTION.findall(index):
        found = [_PAGE.search(line) for line in lines.splitlines() if line.startswith("- ")]
        if found:
            yield heading, [match[1] for match in found if match]


def contents(index: str) -> str:
    """``docs/README.md`` with the site's table of contents, which its readers on other sites would see as code."""
    trees = "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(names) + "\n```\n"
        for heading, names in sections(index)
    )
    more = "\n```{toctree}\n:hidden:\n:caption: Generated\n\n../reference/index\n../CONTRIBUTING\n../README\n```\n"
    return index + trees + more


def assemble(source: Path) -> None:
    """What Sphinx reads."""
    for name in _COPIED:
        shutil.copy(CHECKOUT / name, source)
    for name in _LINKED:
        (source / name).symlink_to(CHECKOUT / name)
    shutil.copytree(CHECKOUT / "docs", source / "docs")
    for page in (source / "docs").glob("*.md"):
        # GitHub draws them; Sphinx could only with a script from elsewhere.
        page.write_text(_DIAGRAM.sub("```text", page.read_text("utf-8")), "utf-8")
    index = source / "docs" / "README.md"
    index.write_text(contents(index.read_text("utf-8")), "utf-8")


def _run(*command: str) -> None:
    print("+", *command, flush=True)
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"{command[0]} failed.")


def build(target: Path) -> None:
    source, html = target / "source", target / "html"
    shutil.rmtree(target, ignore_errors=True)
    source.mkdir(parents=True)
    assemble(source)
    reference = source / "reference"
    reference.mkdir()
    _run(
        *("antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"),
        *("--no-breadcrumbs", "--no-add-antsibull-docs-version", "--dest-dir", str(reference), "zerocopy.rdma"),
    )
    for page in reference.glob("*.rst"):
        page.write_text(_HEADINGS.sub("", page.read_text("utf-8")), "utf-8")
    settings = str(Path(__file__).parent)
    _run("sphinx-build", "-b", "html", "-W", "--keep-going", "-q", "-c", settings, str(source), str(html))
    (html / "index.html").write_text(_REDIRECT, "utf-8")


if __name__ == "__main__":
    directory = Path(sys.argv[1]).resolve()
    build(directory)
    wrong = pages.wrong(directory / "html", CHECKOUT)
    sys.exit("\n".join(wrong) if wrong else None)
