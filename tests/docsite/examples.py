# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The examples that README, CONTRIBUTING and docs print: blocks of code, and the commands in them."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

CHECKOUT = Path(__file__).resolve().parents[2]
# Of those that are written for Galaxy as well as for users.
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted(CHECKOUT.glob("docs/*.md"))))
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# A command of a session, with the lines that a backslash or an open quote joins to it.
_PROMPT = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
# What a reader replaces: <checkout>.
_PLACEHOLDER = re.compile(r"<[a-zA-Z][\w ]*>")


@dataclass(frozen=True)
class Block:
    """A block of code: the ``page``, the number of its first ``line``, the ``language``, and the ``text`` in it."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def script(self) -> str:
        """What a shell would run; of a session, without what it printed. Placeholders are replaced by a word."""
        script = "\n".join(_PROMPT.findall(self.text)) if self.language == "console" else self.text
        return _PLACEHOLDER.sub("placeholder", script)

    @property
    def commands(self) -> list[str]:
        """The script's lines, each with those that continue it."""
        return re.sub(r"\\\n\s*", " ", self.script).splitlines()


def text(page: str) -> str:
    return (CHECKOUT / page).read_text("utf-8")


def blocks(*languages: str) -> Iterator[Block]:
    for page in PAGES:
        content = text(page)
        for match in _BLOCK.finditer(content):
            if match[2] in languages:
                line = content.count("\n", 0, match.start()) + 1
                yield Block(page, line, match[2], textwrap.dedent(match[3]))
