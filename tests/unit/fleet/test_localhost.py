# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Tasks on the controller keep its Python, even if the inventory names localhost and sets another Python for all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

EXAMPLE = PLAYBOOKS.parent / "inventory" / "host_vars" / "localhost.yml"


@pytest.mark.parametrize("kept", [True, False])
def test_the_example_keeps_the_python_of_the_controller(kept: bool, tmp_path: Path) -> None:
    local = {"ansible_connection": "local"}
    every = {"hosts": {"n1": local, "localhost": local}, "vars": {"ansible_python_interpreter": "/nowhere/python3"}}
    (tmp_path / "inventory" / "host_vars").mkdir(parents=True)
    (tmp_path / "inventory" / "hosts.yml").write_text(json.dumps({"all": every}))
    if kept:
        shutil.copy(EXAMPLE, tmp_path / "inventory" / "host_vars")
    task = {"name": "Look", "ansible.builtin.stat": {"path": "/"}, "delegate_to": "localhost"}
    play = {"name": "Play", "hosts": "n1", "gather_facts": False, "tasks": [task]}
    (tmp_path / "run.yml").write_text(json.dumps([play]))
    done = played(tmp_path, "-i", "inventory", "run.yml")
    assert (done.returncode == 0) is kept, done.stdout + done.stderr
    assert ("/nowhere/python3" in done.stdout + done.stderr) is not kept
