# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What docs/certification.md says is shown by a command that exists, or here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = (CHECKOUT / "docs/certification.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("|") and not line.startswith(("| point", "|---"))
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_point_has_an_answer_and_what_shows_it(row):
    _point, answer, shown = row
    assert answer in {"yes", "release", "open"}
    assert shown


def test_the_gates_that_it_names_exist():
    gates = re.findall(r"gate '([^']+)'", (CHECKOUT / "tests/gates.sh").read_text("utf-8"))
    named = [name for only in re.findall(r"ONLY='?([\w\\|-]+)", PAGE) for name in re.split(r"\\?\|", only)]
    assert named
    assert [name for name in named if not any(re.search(name, gate) for gate in gates)] == []


def test_python_packages_of_execution_environments_are_free_or_have_lower_bounds():
    names = (CHECKOUT / "meta/ee-requirements.txt").read_text("utf-8").split()
    assert names
    for name in names:
        assert re.fullmatch(r"[a-z][a-z0-9-]*(>=[0-9.]+)?", name)
        assert not name.startswith("ansible")


def test_dependencies_have_lower_bounds_from_1_0_0_on():
    metadata = yaml.safe_load((CHECKOUT / "galaxy.yml").read_text("utf-8"))
    assert metadata["dependencies"]
    assert all(re.fullmatch(r">=[1-9][0-9.]*", bound) for bound in metadata["dependencies"].values())


def test_modules_that_only_read_are_named_so():
    """Those that change nothing, but do more than read, are listed."""
    more = {
        "benchmark_plan": "plans",
        "cabling": "judges",
        "driver_watch": "watches",
        "plan": "plans",
        "rdma_reachability": "measures",
        "show": "shows",
        "verify": "judges",
    }
    modules = (CHECKOUT / "plugins/modules").glob("*.py")
    unchanging = [path.stem for path in modules if "zerocopy.rdma._attributes.facts_module" in path.read_text("utf-8")]
    assert len(unchanging) > len(more)
    assert {name for name in unchanging if not name.endswith(("_info", "_facts"))} == set(more)


def test_no_sanity_rule_is_ignored():
    assert list(CHECKOUT.glob("tests/sanity/ignore-*.txt")) == []
