# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""playbooks/health.yml on a real API server that has DeviceTaintRules, with recorded nodes of which one NIC is sick.

Needs Kubernetes 1.37 or newer (``ZEROCOPY_KUBERNETES``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import yaml

from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import placed_on
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import Facts, published
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

FLEET = ("v100-01", "v100-02")
# Behind a PCIe link of half the width.
SICK = ("v100-02", "0000:8a:00.0")


def nowhere(playbook: Playbook, directory: Path) -> Path:
    """A kubeconfig of an API server that does not answer."""
    content = yaml.safe_load(Path(playbook._environment["K8S_AUTH_KUBECONFIG"]).read_text())
    content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    found = directory / "nowhere.kubeconfig"
    found.write_text(json.dumps(content))
    return found


def rules(cluster_set: ClusterSet) -> List[Object]:
    found: List[Object] = json.loads(cluster_set.kubectl("get", "devicetaintrules", "-o", "json"))["items"]
    return found


def test_from_the_first_look_to_teardown(
    cluster_set: ClusterSet, playbook: Playbook, facts_of: Facts, tmp_path: Path
) -> None:
    playbook, directory = playbook.of(*FLEET), tmp_path / "health"
    slices = [item for name in FLEET for item in resource_slices(placed_on(published(facts_of(name)), name))]
    cluster_set.kubectl("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": slices})
    own: Dict[str, Any] = {"rdma_health_directory": str(directory), "rdma_health_metrics": str(tmp_path / "m.prom")}
    groups: Dict[str, Dict[str, Any]] = {"v100": {"rdma_health_effect": "NoSchedule", "rdma_health_budget": 1}}

    def looked(**more: Any) -> Object:
        said = playbook.refused(name="health.yml", groups={"v100": {**groups["v100"], **more}}, **own)
        assert said.endswith(f"Everything is in {directory}/health.json.")
        document: Object = json.loads((directory / "health.json").read_text())
        return document

    try:
        (nic,) = looked()["nics"]
        assert (nic["host"], nic["nic"], nic["state"], nic["bad"], nic["times"]) == (*SICK, "sick", 1, 1)
        (rule,) = rules(cluster_set)
        device = {"driver": "dra.net", "pool": "v100-02", "device": "pci-0000-8a-00-0"}
        taint = {"key": "zerocopy.rdma/unhealthy", "value": "pcie_link", "effect": "None"}
        assert rule["spec"]["deviceSelector"] == device
        assert rule["spec"]["taint"].items() >= taint.items()
        document = looked()
        assert [(nic["outcome"], nic["effects"], nic["bad"]) for nic in document["nics"]] == [
            ("tainted", ["NoSchedule"], 2)
        ]
        assert document["nics"][0]["since"] == nic["since"]
        (past,) = document["histories"]
        assert [(event["what"], event["effect"]) for event in past["events"]] == [
            ("sick", ""),
            ("tainted", "None"),
            ("tainted", "NoSchedule"),
        ]
        assert "<h2>History</h2>" in (directory / "health.html").read_text()
        assert "zerocopy_rdma_health_rule{" in (tmp_path / "m.prom").read_text()
        # One who looks for the first time removes nothing that they do not know to be well.
        (directory / "state.json").unlink()
        exempt = {"nic": "mlx5_1", "reason": "its riser is on order", "until": "2999-12-31"}
        assert [nic["bad"] for nic in looked()["nics"]] == [1]
        assert rules(cluster_set)[0]["spec"]["taint"]["effect"] == "NoSchedule"
        (nic,) = looked(rdma_health_exempt=[exempt])["nics"]
        assert (nic["exempt"], nic["outcome"]) == ("its riser is on order, until 2999-12-31", "exempt")
        assert rules(cluster_set) == []
        looked()
        assert len(rules(cluster_set)) == 1
        playbook("--tags=clear", name="health.yml", groups=groups, **own)
        assert rules(cluster_set) == []
        looked()
        playbook("--tags=provision", name="teardown.yml", groups=groups, **own)
        assert rules(cluster_set) == []
        assert (
            cluster_set.kubectl("get", "secret", "zerocopy-rdma-health", "-n", "kube-system", "--ignore-not-found")
            == ""
        )
        # An API server that does not answer hides nothing of what was found on the nodes.
        playbook._environment["K8S_AUTH_KUBECONFIG"] = str(nowhere(playbook, tmp_path))
        document = looked()
        assert [(nic["state"], nic["effects"]) for nic in document["nics"]] == [("sick", None)]
        assert document["problems"][0].startswith("The rules that keep sick NICs from new pods may not be up to date: ")
    finally:
        cluster_set.kubectl("delete", "resourceslices", *(item["metadata"]["name"] for item in slices))
