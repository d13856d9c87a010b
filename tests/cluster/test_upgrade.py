# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Clusters as earlier versions left them (tests/unit/fixtures/state), then this version's provision and teardown."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import parent
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.kubelets import PlayedKubelets
from ansible_collections.zerocopy.rdma.tests.cluster.provision import STEP, Playbook, Results, make_set_of_inventory

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

STATE = Path(__file__).resolve().parents[1] / "unit/fixtures/state"
# Where it is not called as its kind is.
RESOURCES = {"NetworkAttachmentDefinition": "network-attachment-definitions.k8s.cni.cncf.io"}
OLD, NEW = "zerocopy.rdma/", "zerocopy.rdma.node-restriction.kubernetes.io/"
# As tests/upgrade/record.py has them.
HOSTS = ("v100-01", "a100-01", "h100-03", "lab-01")
GROUPS: Dict[str, Dict[str, Any]] = {
    "v100": {"rdma_strategy": "shared_device", "rdma_claims_templates": []},
    "a100": {"rdma_strategy": "host_device", "rdma_claims_templates": []},
    "h100": {"rdma_claims_templates": [{"name": "h100-1gpu-1nic", "gpus": 1, "nics": 1}]},
    "lab": {"rdma_strategy": "inject", "rdma_claims_templates": []},
}
TOOLING, KINDS = "applyset.kubernetes.io/tooling", "applyset.kubernetes.io/contains-group-kinds"


def as_before_1_0(item: Object) -> Object:
    """What this version makes of an object of a commit before 1.0.

    Labels of nodes have moved to a domain that kubelets may not write, and by them DaemonSets find their nodes. The
    parents of their sets are written with these.
    """
    found: Object = copy.deepcopy(item)
    meta = found["metadata"]
    if item["kind"] == "Node":
        meta["labels"] = {label.replace(OLD, NEW): value for label, value in meta["labels"].items()}
    elif item["kind"] == "DaemonSet":
        spec = found["spec"]["template"]["spec"]
        found["spec"]["template"]["spec"] = json.loads(json.dumps(spec).replace(f'"{OLD}', f'"{NEW}'))
    elif "DaemonSet" in meta.get("annotations", {}).get(KINDS, ""):
        meta["annotations"][TOOLING] = f"{parent.TOOL}/{parent.VERSION}"
    return found


# What this version makes of an object that another one left, by the directory of the recording. What is not here is
# not announced, and a reason to ask whether it is meant.
ANNOUNCED: Dict[str, Callable[[Object], Object]] = {"1.0.0": copy.deepcopy, "dccb9b2c": as_before_1_0}


class Kubelets(PlayedKubelets):
    """Synthesised: all pods run at once, and end at once."""

    def status(self, pod: Object) -> Any:
        running = (pod.get("status") or {}).get("phase") == "Running"
        return None if running else {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture(autouse=True)
def kubelets(cluster: dynamic.DynamicClient) -> Iterator[None]:
    with Kubelets(cluster):
        yield


def written(cluster_set: ClusterSet, name: str) -> List[Tuple[str, str, str]]:
    """Write what a version left, under the names of its field managers; kind, namespace and name of the objects."""
    entries = json.loads((STATE / name / "cluster.json").read_text("utf-8"))
    for entry in entries:
        item, manager = entry["object"], f"--field-manager={entry['manager']}"
        meta = item["metadata"]
        if entry["operation"] == "Apply":
            cluster_set.kubectl("apply", "--server-side", manager, "-f", "-", stdin=item)
            if item["kind"] == "CustomResourceDefinition":
                # Objects of the kind follow.
                cluster_set.kubectl("wait", "--for=condition=Established", "crd", meta["name"], "--timeout=60s")
        elif item["kind"] == "Node":
            sub = [f"--subresource={entry['subresource']}"] if entry["subresource"] else []
            cluster_set.kubectl("patch", "node", meta["name"], *sub, manager, "--type=merge", "-p", json.dumps(item))
        else:
            cluster_set.kubectl("create", manager, "-f", "-", stdin=item)
    found = [(entry["object"]["kind"], entry["object"]["metadata"]) for entry in entries]
    return list(dict.fromkeys((kind, meta.get("namespace", ""), meta["name"]) for kind, meta in found))


def now(cluster_set: ClusterSet, places: List[Tuple[str, str, str]]) -> Dict[str, Object]:
    """These objects as they are, without what the control plane writes; what is not there is left out."""
    found: Dict[str, Object] = {}
    for kind, namespace, name in places:
        where = ["-n", namespace] if namespace else []
        text = cluster_set.kubectl(
            "get", RESOURCES.get(kind, kind), name, *where, "-o", "json", "--ignore-not-found", check=False
        )
        # Of a kind whose definition is gone, there is nothing either.
        if text and "doesn't have a resource type" not in text:
            item = json.loads(text)
            meta = item["metadata"]
            own = {key: value for key, value in item.items() if key not in ("status", "metadata")}
            kept = {key: meta[key] for key in ("uid", "labels", "annotations") if key in meta}
            kept.get("annotations", {}).pop("deprecated.daemonset.template.generation", None)
            found[f"{kind} {name}"] = {**own, "metadata": kept}
    return found


def changed(results: Results) -> Dict[str, List[Object]]:
    """By title of each step that has changed something, the objects that it has changed."""
    return {
        title: [one for one in result.get("objects", ()) if one["action"] != "unchanged"]
        for title, result in results.items()
        if result.get("action") == STEP and result.get("changed")
    }


def ours(labels: Dict[str, str]) -> Dict[str, str]:
    return {label: value for label, value in labels.items() if label.startswith((OLD, NEW))}


@pytest.mark.parametrize("name", sorted(ANNOUNCED))
def test_an_upgrade_changes_what_is_announced_and_teardown_leaves_nothing(
    cluster_set: ClusterSet, playbook: Playbook, name: str
) -> None:
    fleet = playbook.of(*HOSTS)
    places = written(cluster_set, name)
    before = now(cluster_set, places)
    assert set(before) == {f"{kind} {one}" for kind, _namespace, one in places}
    announced = {key: ANNOUNCED[name](item) for key, item in before.items()}

    done = changed(fleet(groups=GROUPS))
    # With the same uid: a pod that names a template, or has a device of a driver, does not notice.
    assert now(cluster_set, places) == announced
    assert bool(done) == (announced != before), done
    assert changed(fleet(groups=GROUPS)) == {}

    fleet("--tags=driver,claims", groups=GROUPS, name="teardown.yml")
    assert set(now(cluster_set, places)) == {f"Node {host}" for host in HOSTS}


@pytest.mark.parametrize("name", sorted(ANNOUNCED))
def test_teardown_of_a_cluster_that_was_never_upgraded_leaves_nothing(
    cluster_set: ClusterSet, playbook: Playbook, name: str
) -> None:
    places = written(cluster_set, name)
    playbook.of(*HOSTS)("--tags=driver,claims", groups=GROUPS, name="teardown.yml")
    left = now(cluster_set, places)
    assert set(left) == {f"Node {host}" for host in HOSTS}
    for item in left.values():
        meta = item["metadata"]
        assert ours(meta["labels"]) == {}
        assert not [one for one in meta.get("annotations", {}) if one.startswith("zerocopy.rdma")]


def test_a_set_of_a_newer_version_is_refused_before_anything_changes(
    cluster_set: ClusterSet, playbook: Playbook
) -> None:
    places = written(cluster_set, "dccb9b2c")
    # The last one that would be written.
    claims = ("secret", "zerocopy-rdma-claims", "-n", "kube-system")
    cluster_set.kubectl("annotate", "--overwrite", *claims, f"{TOOLING}=zerocopy.rdma/v2.0.0")
    before = now(cluster_set, places)
    for playbook_name in ("provision.yml", "teardown.yml"):
        said = playbook.of(*HOSTS).refused("--tags=driver,claims", groups=GROUPS, name=playbook_name)
        assert "Secret kube-system/zerocopy-rdma-claims, the parent of a set of objects, has version 2, which" in said
        assert "update the collection" in said
        assert now(cluster_set, places) == before
    # So that the end of the test may remove it.
    cluster_set.kubectl("annotate", "--overwrite", *claims, f"{TOOLING}=zerocopy.rdma/v1.0.0")
