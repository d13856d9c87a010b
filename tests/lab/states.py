# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Compares two states of a node as guest/state.py printed them, and says every difference.

python3 states.py BEFORE AFTER    all parts that BEFORE has (files, live, started)
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """One line for each value that is not the same."""
    if isinstance(before, dict) and isinstance(after, dict):
        lines = []
        for key in sorted(before.keys() | after.keys()):
            lines += differences(before.get(key), after.get(key), f"{where}/{key}")
        return lines
    if isinstance(before, list) and isinstance(after, list):
        gone = [entry for entry in before if entry not in after]
        new = [entry for entry in after if entry not in before]
        return [f"{where}: no longer {entry}" for entry in gone] + [f"{where}: now also {entry}" for entry in new]
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        return differences(before.splitlines(), after.splitlines(), where)
    return [] if before == after else [f"{where}: was {before}, is {after}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    before, after = (json.loads(path.read_text()) for path in (options.before, options.after))
    wrong = differences(before, {name: after.get(name) for name in before})
    print("\n".join(wrong) or f"{sum(map(len, before.values()))} entries are the same")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
