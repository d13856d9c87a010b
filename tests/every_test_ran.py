# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether each unit test ran, once on each Python that it is for.

``make test`` divides them: ansible-test has what is below ``tests/unit/plugins`` and runs it on every Python of nodes,
pytest has the rest. A test that neither of them collects would never fail. So this compares the functions in the
sources with the results that both have left as JUnit XML.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Dict, Iterator, List, Set
from xml.etree import ElementTree

CHECKOUT = Path(__file__).resolve().parents[1]
PYTEST = CHECKOUT / "build/log/pytest.xml"
ANSIBLE_TEST = CHECKOUT / "build/ansible-test/ansible_collections/zerocopy/rdma/tests/output/junit"
UNITS = CHECKOUT / "tests/unit"

# A function is "tests.unit.test_rooms.test_x", with a class before it where it is a method.
Runs = Dict[str, Set[str]]


def written(path: Path) -> Iterator[str]:
    """The test functions of a file, whatever its name is."""
    module = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
    for node in ast.parse(path.read_text("utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else [node]
        prefix = f"{module}.{node.name}" if isinstance(node, ast.ClassDef) else module
        names = (one.name for one in inside if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))
        yield from (f"{prefix}.{name}" for name in names if name.startswith("test"))


def results(path: Path) -> Set[str]:
    """The functions with a result in a file of JUnit XML, whatever their parameters."""
    # In the file of a run that was stopped, the last ones have no name.
    cases = [case for case in ElementTree.parse(path).getroot().iter("testcase") if "classname" in case.attrib]
    return {f"{case.attrib['classname']}.{case.attrib['name'].partition('[')[0]}" for case in cases}


def ran() -> Dict[str, Runs]:
    """By what ran them, ``pytest`` or a kind of ansible-test's, the functions that ran on each Python."""
    found: Dict[str, Runs] = defaultdict(lambda: defaultdict(set))
    found["pytest"]["the controller's"] |= results(PYTEST)
    for path in sorted(ANSIBLE_TEST.glob("python*-units.xml")):
        python, kind, _units = path.stem.split("-")
        # Those of modules and of module_utils are for the same Pythons.
        found["controller" if kind == "controller" else "nodes"][python] |= results(path)
    return found


def wrong(sources: List[str], runs: Dict[str, Runs]) -> Iterator[str]:
    """A line for each function that did not run as it should."""
    for function in sources:
        below = re.match(r"tests\.unit\.plugins\.(\w+)\.", function)
        kind = "pytest" if not below else "nodes" if below[1] in ("modules", "module_utils") else "controller"
        pythons = runs.get(kind, {})
        missing = [python for python, functions in pythons.items() if function not in functions] if pythons else ["any"]
        more = sorted(
            other
            for other in runs
            if other != kind and any(function in functions for functions in runs[other].values())
        )
        if missing:
            yield f"{function} did not run on {', '.join(missing)}"
        if more:
            yield f"{function} ran as one of {kind}, and also as one of {', '.join(more)}"


def main() -> None:
    sources = sorted(function for path in UNITS.rglob("*.py") for function in written(path))
    lines = list(wrong(sources, ran()))
    print("\n".join(lines) or f"{len(sources)} test functions ran.")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
