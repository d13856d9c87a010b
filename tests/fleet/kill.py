# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Kills ``prepare.yml`` with SIGKILL at each of its tasks and shows that the next run completes what that one began.

Each time begins with freshly expanded nodes. After the next run their trees must be those of a run that nobody killed,
and nothing half-written may be left. Kills that left the same trees have the same next run, so that is made once: of
trees that were left as they had been, it is the run that nobody killed. What a kill inside a module leaves is tried by
that module's unit tests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, Tuple

CHECKOUT = Path(__file__).resolve().parents[2]
# Rails over Ethernet with k3s, over InfiniBand with containerd.
NODES = ("lab-01", "v100-01")
Tree = Dict[str, Tuple[int, object]]


def command(nodes: Path, *extra: str) -> list[str]:
    return [
        "ansible-playbook",
        f"--inventory={CHECKOUT / 'inventory'}",
        f"--inventory={CHECKOUT / 'tests/fleet/inventory.yml'}",
        f"--limit={','.join(NODES)}",
        f"--extra-vars=rdma_discover_root={nodes}/{{{{inventory_hostname}}}}",
        *extra,
        str(CHECKOUT / "playbooks/prepare.yml"),
    ]


def run(nodes: Path, record: Path | None = None, kill_at: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        "ANSIBLE_CALLBACK_PLUGINS": str(CHECKOUT / "tests/callbacks"),
        "ANSIBLE_CALLBACKS_ENABLED": "recorded,built",
        "ZEROCOPY_KILL_AT": str(kill_at),
    }
    if record is not None:
        environment["ZEROCOPY_RECORD"] = str(record)
    return subprocess.run(
        command(nodes),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        # The kill is for the process group.
        start_new_session=True,
    )


def fresh(directory: Path, pristine: Path) -> Path:
    # Files are replaced, never written in place, so copies can share them.
    shutil.copytree(pristine, directory, symlinks=True, copy_function=os.link)
    return directory


def tree(nodes: Path, whole: bool = False) -> Tree:
    """Every path with its mode and its content or target; of a ledger, unless ``whole``, what it would put back."""
    found: Tree = {}
    for path in sorted(nodes.rglob("*")):
        content: object = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
            if path.name == "ledger.json" and not whole:
                ledger = json.loads(path.read_text())
                content = {name: entry["before"] for name, entry in ledger["files"].items()}
        found[str(path.relative_to(nodes))] = (path.lstat().st_mode, content)
    return found


def differences(wanted: Tree, found: Tree) -> list[str]:
    return sorted(path for path in wanted.keys() | found.keys() if wanted.get(path) != found.get(path))


def kill(task: int, scratch: Path, pristine: Path) -> tuple[Path, list[str]]:
    """The nodes of a run killed at this task, and what is wrong with that."""
    nodes = fresh(scratch / f"killed-{task}", pristine)
    first = run(nodes, kill_at=task)
    if first.returncode != -signal.SIGKILL:
        return nodes, [f"task {task}: the run was not killed but ended with {first.returncode}", first.stdout]
    return nodes, []


def complete(nodes: Path, wanted: Tree) -> list[str]:
    """What is wrong after the run that follows a killed one."""
    second = run(nodes)
    if second.returncode:
        return [f"{nodes.name}: the run after the killed one failed", second.stdout]
    return [f"{nodes.name}: {path} is not what an undisturbed run leaves" for path in differences(wanted, tree(nodes))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at a time")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="kill-", dir=CHECKOUT / "build"))
    pristine = scratch / "pristine"
    chosen = [f"--node={name}" for name in NODES]
    expand = [sys.executable, str(CHECKOUT / "tests/fleet/expand.py"), "--output", str(pristine), *chosen]
    subprocess.run(expand, check=True, stdout=subprocess.DEVNULL)
    record = scratch / "record.jsonl"
    undisturbed = run(fresh(scratch / "undisturbed", pristine), record)
    if undisturbed.returncode:
        print(undisturbed.stdout)
        return 1
    wanted = tree(scratch / "undisturbed")
    if not differences(wanted, tree(pristine)):
        print("the run changed nothing, so killing it would show nothing")
        return 1
    tasks = json.loads(record.read_text().splitlines()[-1])["tasks"]
    with ThreadPoolExecutor(options.jobs) as pool:
        wrong, left, seen = [], [], [tree(pristine, whole=True)]
        for nodes, problems in pool.map(lambda task: kill(task, scratch, pristine), range(1, tasks + 1)):
            wrong += problems
            found = tree(nodes, whole=True)
            if found not in seen:
                seen.append(found)
                left.append(nodes)
        wrong += [line for result in pool.map(lambda nodes: complete(nodes, wanted), left) for line in result]
    if not left:
        wrong.append("nodes were as before wherever the run was killed, so nothing was there to be completed")
    end = f"killed at each of {tasks} tasks, which left {len(left)} unfinished trees, each completed by the next run"
    print("\n".join(wrong) or end)
    if not wrong:
        shutil.rmtree(scratch)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
