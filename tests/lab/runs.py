# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Compares the recorded runs of converge.yml (tests/callbacks): check mode, the real run, and the run after it.

What check mode predicted on fresh nodes is what the real run then did, change by change, and the run after it did
nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PREFIX = "zerocopy.rdma."


def runs(record: Path) -> list[dict[str, Any]]:
    """The runs of converge.yml in their order, each with ``check`` and its ``results``."""
    found: list[dict[str, Any]] = []
    current: dict[str, Any] = {"results": []}
    for line in record.read_text().splitlines():
        entry = json.loads(line)
        if "playbook" in entry:
            current = {**entry, "results": []}
            if entry["playbook"] == "converge.yml":
                found.append(current)
        elif "host" in entry:
            current["results"].append(entry)
    return found


def changes(run: dict[str, Any]) -> dict[tuple[str, str], list[Any]]:
    """What each module of the collection changed, by host and module."""
    found: dict[tuple[str, str], list[Any]] = {}
    for result in run["results"]:
        if result["action"].startswith(PREFIX) and result["changes"] is not None:
            found.setdefault((result["host"], result["action"]), []).extend(result["changes"])
    return found


def main(record: Path) -> int:
    wrong = []
    recorded = runs(record)
    if [run["check"] for run in recorded] != [True, False, False]:
        print(f"{record}: the runs of converge.yml are not check, converge, idempotence")
        return 1
    predicted, done, again = (changes(run) for run in recorded)
    for key in sorted(predicted.keys() | done.keys()):
        host, module = key
        if predicted.get(key) != done.get(key):
            wrong.append(f"{host} {module}: predicted {predicted.get(key)}, done {done.get(key)}")
    for (host, module), made in sorted(again.items()):
        if made:
            wrong.append(f"{host} {module}: the second run still changed {made}")
    modules = {module for _host, module in done}
    if len(modules) < 3 or not all(done.values()):
        wrong.append(f"a fresh node needs changes by all three modules, seen were {done}")
    print("\n".join(wrong) or f"{sum(map(len, done.values()))} changes, all predicted, none repeated")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
