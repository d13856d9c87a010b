# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``python tests/links.py TARBALL``: what pages of a built collection link to, or tell people to use, is in it.

This includes what the README of a release links to in the repository.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
import tarfile
from typing import Mapping

_FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
# As commands have it: <collection> is the directory of the installed collection.
_INSTALLED = re.compile(r"<collection>/([\w./-]+)")


def _anchors(text: str) -> set[str]:
    """Those of headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+?) *$", _FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def missing(files: Mapping[str, str]) -> list[str]:
    """What pages name that is not there. ``files`` has the path of every file, and the text of each page."""
    there = set(files)
    for path in files:
        while path := posixpath.dirname(path):
            there.add(path)
    found = []
    for page, text in files.items():
        if not page.endswith(".md"):
            continue
        for link in _LINK.findall(_FENCED.sub("", text)):
            if "://" in link or link.startswith("mailto:"):
                continue
            path, _sign, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
            if target not in there or (anchor and anchor not in _anchors(files.get(target, ""))):
                found.append(f"{page}: {link}")
        found += [f"{page}: <collection>/{path}" for path in _INSTALLED.findall(text) if path not in there]
    return sorted(set(found))


def content(tarball: str) -> dict[str, str]:
    """The files of a built collection, with the text of its pages and of its manifest."""
    with tarfile.open(tarball) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {
            member.name: (archive.extractfile(member) or sys.exit(member.name)).read().decode("utf-8")
            if member.name.endswith(".md") or member.name == "MANIFEST.json"
            else ""
            for member in members
        }


if __name__ == "__main__":
    files = content(sys.argv[1])
    information = json.loads(files["MANIFEST.json"])["collection_info"]
    if information["repository"]:
        full = f"{information['repository']}/(?:blob|raw)/{information['version']}/"
        files["README.md"] = re.sub(full, "", files["README.md"])
    gone = missing(files)
    sys.exit("The tarball lacks what its pages name:\n" + "\n".join(gone) if gone else 0)
