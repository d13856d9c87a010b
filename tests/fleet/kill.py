# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Kills ``prepare.yml`` with SIGKILL at each of its tasks and shows that the next run completes what that one began.

Each time begins with freshly expanded nodes. After the second run their trees must be those of a run that nobody
killed, and nothing half-written may be left. What a kill inside a module leaves is tried by that module's unit tests.
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

CHECKOUT = Path(__file__).resolve().parents[2]
# Rails over Ethernet with k3s, over InfiniBand with containerd.
NODES = ("lab-01", "v100-01")


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
        "ANSIBLE_CALLBACKS_ENABLED": "recorded",
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


def tree(nodes: Path) -> dict[str, tuple[int, object]]:
    """Every path with its mode and its content or target; of a ledger, what it would put back."""
    found: dict[str, tuple[int, object]] = {}
    for path in sorted(nodes.rglob("*")):
        content: object = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
            if path.name == "ledger.json":
                ledger = json.loads(path.read_text())
                content = {name: entry["before"] for name, entry in ledger["files"].items()}
        found[str(path.relative_to(nodes))] = (path.lstat().st_mode, content)
    return found


def differences(wanted: dict[str, tuple[int, object]], found: dict[str, tuple[int, object]]) -> list[str]:
    return sorted(path for path in wanted.keys() | found.keys() if wanted.get(path) != found.get(path))


def killed_at(task: int, scratch: Path, pristine: Path, wanted: dict[str, tuple[int, object]]) -> list[str]:
    """What is wrong after a run killed at this task and a second one."""
    nodes = fresh(scratch / f"killed-{task}", pristine)
    first = run(nodes, kill_at=task)
    if first.returncode != -signal.SIGKILL:
        return [f"task {task}: the run was not killed but ended with {first.returncode}", first.stdout]
    second = run(nodes)
    if second.returncode:
        return [f"task {task}: the run after the killed one failed", second.stdout]
    wrong = [f"task {task}: {path} is not what an undisturbed run leaves" for path in differences(wanted, tree(nodes))]
    shutil.rmtree(nodes)
    return wrong


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
        results = pool.map(lambda task: killed_at(task, scratch, pristine, wanted), range(1, tasks + 1))
        wrong = [line for result in results for line in result]
    print("\n".join(wrong) if wrong else f"killed at each of {tasks} tasks, completed by the next run each time")
    if not wrong:
        shutil.rmtree(scratch)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
