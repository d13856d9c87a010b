# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which group a host belongs to, by Ansible's own inventory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.zerocopy.rdma.plugins.filter.fleet import fleet
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _groups
from ansible_collections.zerocopy.rdma.tests.unit.fleet.playbook_run import PLAYBOOKS, played

ROLES = "[prefill]\nn-01\n[decode]\nn-02\n"
KUBESPRAY = "[kube_node]\nn-01\nn-02\n[etcd]\nn-01\n[k8s_cluster:children]\nkube_node\n"
VARIABLES = "rdma_links_mtu: 9000\n"


def hostvars(directory: Path, inventory: str, files: Mapping[str, str]) -> HostVars:
    directory.mkdir(exist_ok=True)
    (directory / "hosts.ini").write_text(inventory)
    for name, text in files.items():
        path = directory / "group_vars" / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    loader = DataLoader()
    manager = InventoryManager(loader, [str(directory / "hosts.ini")])
    return HostVars(manager, VariableManager(loader, manager), loader)


def groups(known: Any) -> list[str]:
    return [_groups.of(known, host) for host in ("n-01", "n-02")]


@pytest.mark.parametrize(
    ("inventory", "files"),
    [
        ("[h100]\nn-01\nn-02\n" + ROLES, {"h100": VARIABLES}),
        ("[h100]\nn-01\nn-02\n" + KUBESPRAY, {"h100": VARIABLES, "k8s_cluster": "kube_version: 1.34.1\n"}),
        # What is said for all hosts makes no group.
        ("[h100]\nn-01\nn-02\n" + KUBESPRAY, {"h100": VARIABLES, "etcd": "rdma_kubeconfig: /etc/admin.conf\n"}),
        # In the inventory itself, and above.
        ("[h100]\nn-01\nn-02\n[h100:vars]\nrdma_links_mtu=9000\n" + ROLES, {}),
        ("[h100]\nn-01\nn-02\n[gpu:children]\nh100\n", {"h100": VARIABLES, "gpu": VARIABLES}),
        ("[h100]\nn-01\nn-02\n[a_gpu:children]\nh100\n", {"all": VARIABLES}),
        # Its file may be a directory's.
        ("[h100]\nn-01\nn-02\n[rack1]\nn-01\n[rack1:vars]\nansible_user=root\n", {"h100": VARIABLES}),
    ],
)
def test_twins_are_in_the_deepest_group_with_variables(tmp_path: Path, inventory: str, files: dict[str, str]) -> None:
    known = hostvars(tmp_path, inventory, files)
    assert groups(known) == ["h100", "h100"]
    assert [_groups.found(known, host, known[host])[1] for host in ("n-01", "n-02")] == [None, None]
    assert {row["group"] for row in fleet(["n-01", "n-02"], known)["rows"]} == {"h100"}


@pytest.mark.parametrize(
    ("inventory", "files", "text"),
    [
        (
            "[h100]\nn-01\nn-02\n" + ROLES,
            {"all": VARIABLES},
            "the host is in h100 and prefill, none of which has variables of this collection",
        ),
        (
            "[h100]\nn-01\nn-02\n" + ROLES,
            {"h100": VARIABLES, "prefill": VARIABLES},
            "the host is in h100 and prefill, which all have variables of this collection",
        ),
        # A depth says nothing where neither contains the other.
        (
            "[h100]\nn-01\nn-02\n" + KUBESPRAY,
            {"h100": VARIABLES, "kube_node": VARIABLES},
            "the host is in h100 and kube_node, which all have variables of this collection",
        ),
    ],
)
def test_a_guess_is_a_problem(tmp_path: Path, inventory: str, files: dict[str, str], text: str) -> None:
    known = hostvars(tmp_path, inventory, files)
    _name, problem = _groups.found(known, "n-01", known["n-01"])
    assert problem is not None
    assert (problem.variable, text in problem.text) == ("rdma_group", True)
    # The way out that it names.
    known = hostvars(tmp_path / "again", inventory, {**files, "h100": VARIABLES + "rdma_group: h100\n"})
    assert groups(known) == ["h100", "h100"]


def test_a_host_of_no_group(tmp_path: Path) -> None:
    assert groups(hostvars(tmp_path, "n-01\nn-02\n", {"all": VARIABLES})) == ["ungrouped", "ungrouped"]


def test_preflight_refuses_a_guess(tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars/all.yml").write_text("rdma_cluster: none\nrdma_links_subnet: 10.9.0.0/24\n")
    (tmp_path / "hosts.ini").write_text("[h100]\nn-01\nn-02\n" + ROLES)
    arguments = ("-i", "hosts.ini", str(PLAYBOOKS / "preflight.yml"))
    run = played(tmp_path, *arguments)
    assert run.returncode == 2, run.stdout + run.stderr
    said = " ".join(run.stdout.split())
    assert "n-01: rdma_group is not set, but the host is in h100 and prefill, none of which has variables" in said
    assert "n-02: rdma_group is not set, but the host is in decode and h100, none of which has variables" in said
    (tmp_path / "group_vars/h100.yml").write_text("rdma_links_mtu: 2044\n")
    run = played(tmp_path, *arguments)
    assert run.returncode == 0, run.stdout + run.stderr
