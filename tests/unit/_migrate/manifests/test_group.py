# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The group that migrate rewrites workloads for is looked at before a node is asked for anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

TEMPLATES = [{"name": "one-nic", "nics": 1}]
GROUPS: dict[str, dict[str, Any]] = {
    "v100": {"rdma_strategy": "shared_device"},
    # Of the default strategy, with and without something to claim.
    "h100": {"rdma_claims_templates": TEMPLATES},
    "lab": {},
    "login": {"rdma_strategy": "none"},
}
CHOICE = "h100 (dra) or v100 (shared_device)."
WRONG = "which is no group of this run whose pods can request RDMA:"


@pytest.mark.parametrize("name", ["rdma_claims_templates", "rdma_claims_claims", "rdma_claims_extended_resources"])
def test_groups_whose_pods_can_request_something(name: str) -> None:
    groups = {**GROUPS, "h100": {name: TEMPLATES}}
    hosts = {
        f"{group}-01": {**own, "inventory_hostname": f"{group}-01", "group_names": [group]}
        for group, own in groups.items()
    }
    assert strategies({}, list(hosts), hosts)["requesting"] == {"v100": "shared_device", "h100": "dra"}


@pytest.mark.parametrize(
    ("groups", "group", "told"),
    [
        (list(GROUPS), "", f"workloads are rewritten for one group: set it to {CHOICE}"),
        (list(GROUPS), "lab", f"rdma_migrate_group is 'lab', {WRONG} it must be {CHOICE}"),
        (["lab", "login"], "", "In no group of this run can pods request RDMA: set rdma_strategy and"),
    ],
)
def test_a_group_is_needed_before_facts(groups: list[str], group: str, told: str, tmp_path: Path) -> None:
    reach = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "rdma_cluster": "none"}
    children = {name: {"hosts": {f"{name}-01": {}}, "vars": GROUPS[name]} for name in groups}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"vars": reach, "children": children}}))
    extra = json.dumps({"rdma_migrate_group": group, "rdma_migrate_manifests": ["missing"]})
    done = played(tmp_path, "-i", "hosts.yml", "-e", extra, str(PLAYBOOKS / "migrate.yml"))
    said = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    # A quote in YAML is doubled.
    assert told in said.replace("''", "'")
    assert "Gather RDMA facts" not in said
