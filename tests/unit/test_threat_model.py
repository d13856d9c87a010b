# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What docs/threat-model.md says is tried is tried: each row names tests, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "threat-model.md").read_text("utf-8")
TEST = re.compile(r"`(test_\w+)`")


def _defined() -> set[str]:
    sources = (CHECKOUT / "tests").rglob("test_*.py")
    return {name for path in sources for name in re.findall(r"(?m)^def (test_\w+)\(", path.read_text("utf-8"))}


def test_every_row_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| can write")]
    assert len(rows) > 10
    assert [row for row in rows if not TEST.search(row.rsplit("|", 2)[1])] == []


def test_every_test_that_is_named_exists() -> None:
    assert set(TEST.findall(PAGE)) - _defined() == set()
