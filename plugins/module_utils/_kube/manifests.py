# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the objects of drivers and plugins have in common: a namespace, labels of nodes, and a pod on each of them."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

Manifest = Dict[str, Any]

_SHARE = re.compile("[1-9][0-9]{0,4}|[1-9][0-9]?%|100%")


def _is_member(namespace: str) -> bool:
    """Whether a namespace is one of the objects; those of Kubernetes itself are not."""
    return not namespace.startswith("kube-")


def namespaces(namespace: str) -> List[Manifest]:
    """The namespace of privileged pods, if it is one of the objects."""
    if not _is_member(namespace):
        return []
    # Clusters with Pod Security admission allow them by this label only.
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}]


def misplaced(parent: str, namespace: str, values: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem if the namespace of a set's parent is one of the objects of the set, by the names of both variables."""
    name = values[namespace]
    if _is_member(name) and values[parent] == name:
        right = f"the same as {namespace}, which is part of the set: choose another one, such as kube-system"
        yield wrong(parent, name, right)


def nodes(labels: Mapping[str, Mapping[str, Optional[str]]]) -> List[Manifest]:
    """Nodes with their labels; a node that has to lose one is left out."""
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": host, "labels": dict(own)}}
        for host, own in labels.items()
        if all(own.values())
    ]


def volume(name: str, path: str, kind: str) -> Manifest:
    """A path of the node; ``kind`` as in ``hostPath`` (``Directory``, ``DirectoryOrCreate``)."""
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def node_pod(
    selector: Mapping[str, str], container: Manifest, volumes: List[Manifest], pull_secrets: Sequence[str]
) -> Manifest:
    """The specification of a pod on nodes with these labels, in the host's network namespace."""
    pod: Manifest = {
        "hostNetwork": True,
        # A node under pressure, drained or tainted still has to take devices back from the pods that leave it.
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": dict(selector),
        "containers": [container],
        "volumes": volumes,
    }
    if pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in pull_secrets]
    return pod


def check_share(variable: str, value: str) -> None:
    """:raises PlanError: it is no ``maxUnavailable`` of a DaemonSet."""
    if not _SHARE.fullmatch(value):
        raise PlanError(wrong(variable, value, "it must be a number of nodes or a percentage, at least 1"))


def daemon_set(metadata: Manifest, pod: Manifest, max_unavailable: str, annotations: Mapping[str, str]) -> Manifest:
    """A DaemonSet of such pods, which have the labels of its ``metadata``, and ``annotations``.

    ``max_unavailable`` is a number or a percentage of the nodes.
    """
    labels = metadata["labels"]
    unavailable: Any = int(max_unavailable) if max_unavailable.isdigit() else max_unavailable
    of_pods = {"labels": labels, **({"annotations": dict(annotations)} if annotations else {})}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable}},
            "template": {"metadata": of_pods, "spec": pod},
        },
    }
