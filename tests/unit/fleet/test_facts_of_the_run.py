# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nodes are compared and changed by facts of the same run, also where a fact cache has those of an earlier one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Callable

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

HOST = "lab-01"


def gathered(playbooks: list[str], root: Path, tmp_path: Path) -> int:
    """How often these playbooks, as one run, gather the facts of a node. A cache keeps them for the next run."""
    own = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "rdma_discover_root": str(root),
        "rdma_links_subnet": "10.9.0.0/24",
    }
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {HOST: own}}}))
    imports = [{"ansible.builtin.import_playbook": str(PLAYBOOKS / name)} for name in playbooks]
    (tmp_path / "run.yml").write_text(json.dumps(imports))
    environment = {
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(tmp_path / "cache"),
    }
    done = played(tmp_path, "-i", "hosts.yml", "run.yml", **environment)
    # The node differs.
    assert done.returncode == 2, done.stdout + done.stderr
    told = json.loads(done.stdout[done.stdout.find("{\n") :])
    found = [task["hosts"][HOST] for play in told["plays"] for task in play["tasks"] if HOST in task["hosts"]]
    return sum("rdma" in one.get("ansible_facts", {}) for one in found)


def test_once_whatever_a_cache_has(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    root = root_of(HOST)
    assert gathered(["facts.yml", "drift.yml"], root, tmp_path) == 1
    assert list((tmp_path / "cache").iterdir())
    assert gathered(["drift.yml"], root, tmp_path) == 1
