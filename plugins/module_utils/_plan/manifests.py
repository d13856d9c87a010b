# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The shape of what drivers and plugins run as: a privileged pod with one container on each node with a label."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence

Manifest = Dict[str, Any]


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
