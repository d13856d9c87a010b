# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the real Kueue and the real scheduler make of the labels and the Topology that provision has applied.

The nodes are recorded (synthesised) ones, and so is the fabric between them: iblinkinfo's form, written here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, Results
from ansible_collections.zerocopy.rdma.tests.cluster.rights import asked_by, documented, idle, users, without
from ansible_collections.zerocopy.rdma.tests.cluster.test_rights import NODE, USER, Run, run_as
from ansible_collections.zerocopy.rdma.tests.operators.kueue import GROUP, QUEUE, Kueue
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts

# A fixture that is defined elsewhere.
__all__ = ["run_as"]

LABEL, TOPOLOGY = "network.topology.nvidia.com/leaf", "rdma"
UNITS = {"v100-01": 0, "v100-02": 0, "h100-01": 1, "h100-02": 1, "h100-03": 1}
LINE = (
    '{guid} "{host}" 7 1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==> {switch} 1 {port}[  ] "MF0;{name}:MQM8700/U1" ( )'
)


@pytest.fixture(name="kueue")
def make_kueue(cluster_set: ClusterSet, control_plane: Any, tmp_path: Path) -> Iterator[Kueue]:
    found = Kueue(cluster_set, tmp_path, control_plane)
    room = [
        {"op": "add", "path": f"/status/{part}/example.org~1gpu", "value": "8"} for part in ("capacity", "allocatable")
    ]
    for name in UNITS:
        cluster_set.kubectl("label", "node", name, "kubernetes.io/os=linux")
        cluster_set.kubectl("patch", "node", name, "--subresource=status", "--type=json", "-p", json.dumps(room))
    with found.running():
        yield found


def fabric(facts_of: Facts, moved: Mapping[str, int]) -> str:
    """Rail by rail, on leaves of the node's unit; the first rail of those that were ``moved`` is in another unit."""
    lines = []
    for number, (host, unit) in enumerate(UNITS.items(), 1):
        for index, hca in enumerate(facts_of(host)["hcas"]):
            gids = hca["ports"][0]["gids"]
            if hca["ports"][0]["link_layer"] == "InfiniBand" and gids:
                leaf = 8 * (moved.get(host, unit) if index == 0 else unit) + index + 1
                guid = "0x" + gids[0]["gid"].replace(":", "")[-16:]
                where = {"switch": f"0x{leaf + 160:x}", "name": f"leaf-{leaf}", "port": number}
                lines.append(LINE.format(guid=guid, host=f"{host} {hca['name']}", **where))
    return "\n".join(lines) + "\n"


class Fleet:
    """The playbooks as a user runs them: what is at the other end of cables, and then the cluster."""

    def __init__(self, playbook: Playbook, facts_of: Facts, scratch: Path, cluster_set: ClusterSet) -> None:
        self._playbook, self._facts_of, self._scratch, self._set = playbook.of(*UNITS), facts_of, scratch, cluster_set
        self.variables: dict[str, Any] = {
            "rdma_strategy": "none",
            "rdma_cabling_json": str(scratch / "cabling.json"),
            "rdma_provision_leaf_label": LABEL,
            "rdma_provision_kueue_topology": TOPOLOGY,
        }

    def cabled(self, **moved: int) -> None:
        path = self._scratch / "fabric.txt"
        path.write_text(fabric(self._facts_of, {name.replace("_", "-"): unit for name, unit in moved.items()}))
        files = {**self.variables, "rdma_cabling_fabric_files": [str(path)]}
        if moved:
            assert "cabling fault" in self._playbook.refused(name="cabling.yml", **files)
        else:
            self._playbook.example(name="cabling.yml", **files)

    def provisioned(self, *options: str, name: str = "provision.yml", **own: Any) -> Results:
        return self._playbook.example(*options, name=name, **{**self.variables, **own})

    def labels(self) -> dict[str, str]:
        nodes = json.loads(self._set.kubectl("get", "nodes", "-o", "json"))["items"]
        every = {node["metadata"]["name"]: node["metadata"]["labels"].get(LABEL) for node in nodes}
        return {name: value for name, value in every.items() if value}


def test_a_gang_is_under_one_leaf(
    kueue: Kueue, playbook: Playbook, facts_of: Facts, tmp_path: Path, cluster_set: ClusterSet
) -> None:
    fleet = Fleet(playbook, facts_of, tmp_path, cluster_set)
    fleet.cabled()
    shown = fleet.provisioned("--check", "--diff")
    assert f"h100-03 {LABEL}: leaf-9" in json.dumps(shown)
    assert fleet.labels() == {}
    fleet.provisioned()
    right = {host: ("leaf-1", "leaf-9")[unit] for host, unit in UNITS.items()}
    assert fleet.labels() == right
    assert fleet.provisioned()["Apply the plan"]["changed"] is False

    kueue.queue(TOPOLOGY)
    # Three nodes are under one group of leaves alone, and four under none, although five are free.
    kueue.gang("four", 4, LABEL)
    kueue.until("an answer for four", lambda: bool(kueue.condition("four", "QuotaReserved")))
    assert kueue.condition("four", "QuotaReserved")["status"] == "False"
    assert "topology" in kueue.condition("four", "QuotaReserved")["message"]
    kueue.gang("three", 3, LABEL)
    kueue.until("three pods of three", lambda: len(kueue.nodes("three")) == 3)
    assert kueue.nodes("three") == ["h100-01", "h100-02", "h100-03"]
    kueue.gang("two", 2, LABEL)
    kueue.until("two pods of two", lambda: len(kueue.nodes("two")) == 2)
    assert kueue.nodes("two") == ["v100-01", "v100-02"]
    assert (kueue.nodes("four"), kueue.condition("four", "Admitted")) == ([], {})

    # A cable in the wrong unit: its node is no place for a gang any more.
    for name in ("four", "three", "two"):
        cluster_set.kubectl("delete", "job", name, "-n", cluster_set.namespace, "--cascade=foreground", "--wait=false")
        cluster_set.kubectl("delete", "pods", "-n", cluster_set.namespace, "-l", f"gang={name}", "--force")
    kueue.until("no workloads", lambda: kueue.items(f"workloads.{GROUP}") == [])
    fleet.cabled(h100_03=0)
    fleet.provisioned()
    del right["h100-03"]
    assert fleet.labels() == right
    kueue.gang("again", 3, LABEL)
    kueue.until("an answer for again", lambda: bool(kueue.condition("again", "QuotaReserved")))
    assert kueue.condition("again", "QuotaReserved")["status"] == "False"
    assert kueue.nodes("again") == []

    # What topograph set stays, and ours go: Kueue keeps the Topology as long as a flavor names it.
    cluster_set.kubectl("label", "node", "h100-03", f"{LABEL}=S-1", "--field-manager=topograph")
    fleet.provisioned(name="teardown.yml")
    assert fleet.labels() == {"h100-03": "S-1"}
    (topology,) = kueue.items(f"topologies.{GROUP}")
    assert topology["metadata"]["deletionTimestamp"]
    cluster_set.kubectl("delete", "job", "again", "-n", cluster_set.namespace)
    kueue.until("no workload of again", lambda: kueue.items(f"workloads.{GROUP}") == [])
    for kind in ("localqueue", "clusterqueue", "resourceflavor"):
        cluster_set.kubectl("delete", f"{kind}.{GROUP}", QUEUE, "-n", cluster_set.namespace)
    kueue.until("the end of the Topology", lambda: kueue.items(f"topologies.{GROUP}") == [])


def test_the_role_of_leaves(
    cluster_set: ClusterSet, run_as: Callable[..., Object], facts_of: Facts, control_plane: Any, tmp_path: Path
) -> None:
    Kueue(cluster_set, tmp_path, control_plane).define()
    groups = {"values": {NODE: "leaf-1"}, "without": {}, "unseen": {}}
    (tmp_path / "cabling.json").write_text(json.dumps({"version": 1, "leaf_groups": groups}))
    own = {
        "rdma_cabling_json": str(tmp_path / "cabling.json"),
        "rdma_provision_leaf_label": LABEL,
        "rdma_provision_kueue_topology": TOPOLOGY,
    }
    run = Run(run_as, facts_of(NODE), "none", cluster_set.namespace, **own)
    roles = documented(cluster_set.namespace, "zerocopy-provision", "zerocopy-provision-leaves")
    leaves = [role for role in roles if role["metadata"]["name"] == "zerocopy-provision-leaves"]
    rules = [(role, number) for role in leaves for number in range(len(role["rules"]))]
    lacking = {
        f"rights-{place}": [without(each, number) if each is role else each for each in roles]
        for place, (role, number) in enumerate(rules)
    }
    with users(cluster_set, {USER: roles, **lacking}):
        for user in lacking:
            assert "this user has no right to " in run.planned(user)["msg"]
        with asked_by(cluster_set, USER) as asked:
            assert run(USER)["changed"] is True
            assert run(USER)["changed"] is False
            assert json.loads(cluster_set.kubectl("get", "node", NODE, "-o", "json"))["metadata"]["labels"][LABEL]
            gone = run(USER, state="absent")
        assert [step["changed"] for step in gone["steps"]] == [True, True]
        assert idle(leaves, asked) == []
