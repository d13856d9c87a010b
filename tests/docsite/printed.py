# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The README's files, for somebody who follows it, and whether what a page prints as output is what a run printed.

``python tests/docsite/printed.py files DIRECTORY`` writes ``ansible.cfg`` and ``hosts.yml``; ``printed.py output PAGE
LOG`` fails if the log of a run lacks a line of the output that the page has, or has it elsewhere.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "build/collections"))

from ansible_collections.zerocopy.rdma.tests.docsite import examples

_TESTED = "<!-- Tested: tests/installed.sh"
# Lines left out.
_GAP = re.compile(r"^\.\.\.\n", re.MULTILINE)


def files() -> dict[str, str]:
    """What the README tells its reader to write."""
    own = [block for block in examples.blocks("ini", "yaml") if block.page == "README.md"]
    (settings,) = (block.text for block in own if block.language == "ini")
    (inventory,) = (block.text for block in own if block.text.startswith("all:\n"))
    return {"ansible.cfg": settings, "hosts.yml": inventory}


def output(page: str) -> str:
    """The only block of a page that says that it is tested."""
    before, marked, after = examples.text(page).partition(_TESTED)
    line = (before + marked).count("\n") + 2
    (found,) = (block.text for block in examples.blocks("text") if (block.page, block.line) == (page, line))
    assert marked
    assert _TESTED not in after
    return found


def missing(printed: str, log: str) -> str:
    """The first part of an output that the log does not have after the parts before it; empty if it has all."""
    place = 0
    for part in _GAP.split(printed):
        place = log.find(part, place)
        if place < 0:
            return part
        place += len(part)
    return ""


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    if task == "files":
        for name, content in files().items():
            Path(arguments[0], name).write_text(content, "utf-8")
    elif lacking := missing(output(arguments[0]), Path(arguments[1]).read_text("utf-8")):
        sys.exit(f"{arguments[0]} prints what the run did not:\n{lacking}")
