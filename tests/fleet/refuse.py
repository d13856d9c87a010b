# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Plays every mistake of ``refusals.yml``: ``python tests/fleet/refuse.py --nodes DIR``.

DIR holds the expanded nodes (``expand.py``). Cases of different hosts and variables make one inventory, for a real
``ansible-playbook`` that has to fail with exactly the one message of each case. Where it does not, because one mistake
hides another or for a worse reason, each is played on its own. In the end no file of any node may differ. Cases that
need facts are for the comparison, which gathers them. ``test_prepare_refusals.py`` tries the same cases in one
process, each on its own.
"""

from __future__ import annotations

import argparse
import copy
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# What these nodes have no part for: a comparison must find nothing wrong but the mistakes.
COMPARE = "compare.yml"
COMPARABLE = {"rdma_runtime_flavour": "none", "rdma_kernel_modules": []}
HERE = Path(__file__).resolve().parent
PLAYBOOKS = HERE.parents[1] / "playbooks"
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "build" / "collections")]

import mistakes
import yaml


def digests(root: Path) -> dict[str, str]:
    """Kind, mode and content of everything below a directory."""
    found = {}
    for directory, names, files in os.walk(root):
        for path in (Path(directory, name) for name in names + files):
            content = os.readlink(path).encode() if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
            found[str(path.relative_to(root))] = f"{path.lstat().st_mode:o} {hashlib.sha256(content).hexdigest()}"
    return found


class Player:
    """Runs playbooks on inventories of recorded nodes."""

    def __init__(self, scratch: Path, nodes: Path) -> None:
        self.scratch = scratch
        self.reach = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "rdma_discover_root": f"{nodes}/{{{{ inventory_hostname }}}}",
        }
        self.environment = dict(
            os.environ,
            ANSIBLE_STDOUT_CALLBACK="ansible.posix.json",
            ANSIBLE_RETRY_FILES_ENABLED="false",
        )

    def play(self, name: str, inventory: dict[str, Any], playbook: Path) -> tuple[int, list[str]]:
        """Exit code and messages of a run; whatever else made it fail is a message too."""
        inventory = copy.deepcopy(inventory)
        inventory["all"]["vars"].update(self.reach)
        path = self.scratch / (re.sub("[^a-z0-9]+", "-", name.lower()) + ".yml")
        path.write_text(yaml.safe_dump(inventory), "utf-8")
        command = ["ansible-playbook", f"--inventory={path}", str(playbook)]
        command += ["-e", json.dumps(COMPARABLE)] if playbook.name == COMPARE else []
        # The log of a run may come before what the callback prints, which is one JSON document.
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        start = done.stdout.find("{\n")
        if start < 0:
            return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if line]
        return done.returncode, self._messages(json.loads(done.stdout[start:]))

    @staticmethod
    def _messages(document: dict[str, Any]) -> list[str]:
        found: dict[str, None] = {}
        for play in document["plays"]:
            for task in play["tasks"]:
                for host, result in task["hosts"].items():
                    if result.get("changed"):
                        found[f"{host}: {task['task']['name']} changed something"] = None
                    if result.get("failed") or result.get("unreachable"):
                        told = result.get("msg", "failed without a message")
                        lines = told if isinstance(told, list) else [line for line in told.splitlines() if line]
                        found.update(dict.fromkeys(lines[1:] if lines[0].startswith("Nothing was changed") else lines))
        return list(found)


def together(inventory: dict[str, Any], cases: list[mistakes.Case]) -> list[list[mistakes.Case]]:
    """The cases in as few runs as keep each message apart: no two of a run share a host or a variable."""

    def apart(one: mistakes.Case, other: mistakes.Case) -> bool:
        hosts = mistakes.touched(inventory, one) & mistakes.touched(inventory, other)
        return one.facts == other.facts and not hosts and mistakes.variable(one) != mistakes.variable(other)

    runs: list[list[mistakes.Case]] = []
    for case in cases:
        fitting = (run for run in runs if all(apart(case, other) for other in run))
        run = next(fitting, None)
        if run is None:
            runs.append([case])
        else:
            run.append(case)
    return runs


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Play every mistake of refusals.yml; each has to be refused.")
    parser.add_argument("--nodes", required=True, type=Path, metavar="DIR", help="expanded nodes")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name matches")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    nodes = options.nodes.resolve()
    inventory, cases = mistakes.read()
    cases = [case for case in cases if re.search(options.only, case.name)]
    before = digests(nodes)
    with tempfile.TemporaryDirectory(prefix="refuse-") as scratch:
        player = Player(Path(scratch), nodes)
        complaints = []
        for playbook in ("facts.yml", "preflight.yml", COMPARE):
            code, told = player.play(f"right {playbook}", inventory, PLAYBOOKS / playbook)
            if code or told:
                complaints.append("\n  ".join([f"the inventory without mistakes, {playbook}: exit code {code}", *told]))

        def refused(run: list[mistakes.Case]) -> list[str]:
            wrong = functools.reduce(mistakes.mutated, run, inventory)
            playbook = PLAYBOOKS / (COMPARE if run[0].facts else "preflight.yml")
            code, told = player.play(run[0].name, wrong, playbook)
            found = mistakes.complaints(inventory, run, told) or ([] if code else [f"{run[0].name}: exit code 0"])
            return [text for case in run for text in refused([case])] if found and len(run) > 1 else found

        with ThreadPoolExecutor(options.jobs) as pool:
            complaints += [text for texts in pool.map(refused, together(inventory, cases)) for text in texts]
    after = digests(nodes)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    if changed:
        complaints.append("\n  ".join([f"{len(changed)} file(s) below {nodes} were changed", *changed[:20]]))
    print("\n".join([*complaints, f"{len(cases)} mistakes played, {len(complaints)} complaints"]))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
