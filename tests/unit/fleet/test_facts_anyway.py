# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Facts can be had of nodes whose inventory is not right yet, but not with variables that say how to gather them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

HOST = "lab-01"
LINKS = {"rdma_links_subnet": "10.9.0.0/33", "rdma_strategy": "magic"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, []),
        ({"rdma_discover_allow_software": "maybe"}, ["rdma_discover_allow_software is 'maybe'"]),
        ({"rdma_discover_driver": ["mlx5_core"]}, ["rdma_discover_driver is not used by any role"]),
    ],
)
def test_only_variables_with_the_prefix_count(more: dict[str, Any], told: list[str]) -> None:
    hosts = {HOST: {**LINKS, **more, "inventory_hostname": HOST, "group_names": ["lab"]}}
    found = prepare_problems({}, [HOST], hosts, prefix="rdma_discover_")
    assert [line.partition(": ")[2].startswith(text) for line, text in zip(found, told)] == [True] * len(told)
    assert len(found) == len(told)
    every = prepare_problems({}, [HOST], hosts)
    assert {line.split()[1] for line in every} == {*LINKS, *more}
    assert set(found) < set(every)


def test_facts_are_gathered_whatever_is_wrong_with_links(root_of: Callable[[str], Path], tmp_path: Path) -> None:
    own = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **LINKS}
    own["rdma_discover_root"] = str(root_of(HOST))
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"children": {"lab": {"hosts": {HOST: own}}}}}))
    files = [f"rdma_discover_{form}={tmp_path}/fleet.{form}" for form in ("json", "html")]
    done = played(tmp_path, "-i", "hosts.yml", str(PLAYBOOKS / "facts.yml"), *(f"-e{file}" for file in files))
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "prepare and provision will refuse this:" in said
    assert "rdma_links_subnet is '10.9.0.0/33'" in said.replace("''", "'")
    assert HOST in (tmp_path / "fleet.json").read_text()
    assert (tmp_path / "fleet.html").exists()
