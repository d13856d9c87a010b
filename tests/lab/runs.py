# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Compares the recorded runs of converge.yml (tests/callbacks): check mode, the real run, and the run after it.

What the drift predicted on fresh nodes, in check mode and again before the real run, is what that run then did, change
by change. The run after it found no drift and did nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PREFIX = "zerocopy.rdma."
# What a comparison predicts and a change of the module makes. Packages are none of ours.
PARTS = {"kernel", "links", "runtime", "daemons", "images"}


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
    """What each part of a node, or another module of the collection, changed, by host and part or module."""
    found: dict[tuple[str, str], list[Any]] = {}
    for result in run["results"]:
        if result["action"].startswith(PREFIX) and result["changes"] is not None:
            what = ", ".join(result["parts"] or [result["action"]])
            found.setdefault((result["host"], what), []).extend(result["changes"])
    return found


def drift(run: dict[str, Any]) -> dict[tuple[str, str], list[Any]]:
    """What the comparison said would be changed, by host and part, where that is anything."""
    return {
        (result["host"], concern): made
        for result in run["results"]
        for concern, made in result["drift"].items()
        if made and concern in PARTS
    }


def main(record: Path) -> int:
    wrong = []
    recorded = runs(record)
    if [run["check"] for run in recorded] != [True, False, False]:
        print(f"{record}: the runs of converge.yml are not check, converge, idempotence")
        return 1
    done = {key: made for key, made in changes(recorded[1]).items() if made}
    for predicted in map(drift, recorded[:2]):
        for host, part in sorted(predicted.keys() | done.keys()):
            foreseen, made = predicted.get((host, part)), done.get((host, part))
            if foreseen != made:
                wrong.append(f"{host} {part}: predicted {foreseen}, done {made}")
    for what, found in (("changed", changes(recorded[2])), ("found drift", drift(recorded[2]))):
        wrong += [f"{host} {part}: the second run {what}: {made}" for (host, part), made in found.items() if made]
    if len({part for _host, part in done}) < 3:
        wrong.append(f"a fresh node needs changes of kernel, links and runtime, seen were {done}")
    print("\n".join(wrong) or f"{sum(map(len, done.values()))} changes, all predicted, none repeated")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
