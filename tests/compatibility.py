# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``python3 tests/compatibility.py`` writes the page of what works with what, from ``compatibility.yml`` beside it.

With ``--cores`` it prints the ansible-core versions to test, oldest first, each with the oldest Python that runs it.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import yaml

CHECKOUT = Path(__file__).resolve().parents[1]
TABLE = CHECKOUT / "tests/compatibility.yml"
PAGE = CHECKOUT / "docs/compatibility.md"
ANSWERS = ("run", "read", "no")
_HEAD = """# What works with what

Each version has one of three answers:

- **run**: tests run it, with the commands that are named here. Most commands are targets of `make` in a checkout
  ([CONTRIBUTING.md](../CONTRIBUTING.md) describes them).
- **read**: nothing was run. The code follows the source that is named.
- **no**: refused, or known not to work.

No test has run on InfiniBand or GPU hardware: RDMA in tests is Soft-RoCE. This page is made from a file
(`tests/compatibility.yml` in a checkout) that tests compare with the versions that the code names.
"""


@dataclass(frozen=True)
class Pin:
    """Where the code states a version: every match of ``text`` in the files, a pattern, has to be it."""

    file: str
    text: str

    def stated(self) -> set[str]:
        """As the code has them, with dots: ``1.4.0`` also for ``(1, 4, 0)``."""
        files = CHECKOUT.glob(self.file)
        found = [match for path in files for match in re.findall(self.text, path.read_text("utf-8"), re.MULTILINE)]
        return {match.replace(", ", ".") for match in found}


@dataclass(frozen=True)
class Row:
    version: str
    answer: str
    where: str
    pin: Optional[Pin] = None
    python: str = ""


@dataclass(frozen=True)
class Subject:
    name: str
    rows: tuple[Row, ...]
    cores: bool = False


def subjects() -> list[Subject]:
    """:raises TypeError: a row has a key that no row has."""
    found = []
    for subject in yaml.safe_load(TABLE.read_text("utf-8")):
        rows = [Row(**{**row, "pin": Pin(**row["pin"]) if "pin" in row else None}) for row in subject["rows"]]
        found.append(Subject(subject["name"], tuple(rows), subject.get("cores", False)))
    return found


def cores() -> list[Row]:
    """The ansible-core versions that tests run, oldest first."""
    rows = [row for subject in subjects() if subject.cores for row in subject.rows if row.answer == "run"]
    return sorted(rows, key=lambda row: [int(part) for part in re.findall(r"[0-9]+", row.version)])


def page() -> str:
    parts = [_HEAD]
    for subject in subjects():
        rows = [f"| {row.version} | {row.answer} | {row.where} |" for row in subject.rows]
        parts.append("\n".join([f"## {subject.name}", "", "| version | | where |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", action="store_true", help="print the versions of ansible-core")
    if parser.parse_args().cores:
        print("\n".join(f"{row.version} {row.python}" for row in cores()))
    else:
        PAGE.write_text(page(), "utf-8")
