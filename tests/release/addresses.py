# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``python tests/release/addresses.py DIRECTORY``: full links in the README, which Galaxy shows without its neighbours.

``repository`` in ``galaxy.yml`` says where they lead, to the tag of the version. A collection without one is left as it
is. The repository keeps relative links: only the copy that is built gets full ones.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml

_FENCED = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
# Of Markdown, an image's begins with "!"; of HTML in it, those in attributes.
_LINK = re.compile(
    r"(!?)(\[[^\]]*\]\(|\[[^\]]*\]: +)(?![a-z]+:|#)([^)\s]+)|(<img[^>]* src=\"|<a[^>]* href=\")(?![a-z]+:|#)([^\"]+)"
)
_IMAGE = re.compile(r"\.(?:svg|png|jpe?g|gif)$")


def prefix(repository: str, version: str, image: bool = False) -> str:
    """Where files of a version are, in the form of GitHub, Forgejo and (after a redirect) GitLab."""
    return f"{repository}/{'raw' if image else 'blob'}/{version}/"


def absolute(text: str, repository: str, version: str) -> str:
    """The page with full links. Those inside the page stay."""

    def full(match: re.Match[str]) -> str:
        before = match[4] or f"{match[1]}{match[2]}"
        path = match[5] or match[3]
        return f"{before}{prefix(repository, version, bool(_IMAGE.search(path)))}{path}"

    parts = _FENCED.split(text)
    return "".join(part if index % 2 else _LINK.sub(full, part) for index, part in enumerate(parts))


if __name__ == "__main__":
    readme, galaxy = (Path(sys.argv[1]) / name for name in ("README.md", "galaxy.yml"))
    metadata = yaml.safe_load(galaxy.read_text("utf-8"))
    if metadata.get("repository"):
        page = absolute(readme.read_text("utf-8"), metadata["repository"], metadata["version"])
        readme.write_text(page, "utf-8")
