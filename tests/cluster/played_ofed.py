# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A stand-in for the part of NVIDIA's Network Operator that loads its OFED driver, and for what that does to a node.

The operator runs the driver's pod on nodes that a NicNodePolicy with ``ofedDriver`` selects, and says by a label
whether it is ready. The container writes into the node's file system, here the recorded one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List

from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import Object
from ansible_collections.zerocopy.rdma.tests.cluster.played import Played

LABEL = "zerocopy.rdma.node-restriction.kubernetes.io/shared-device"
WAITS = "network.nvidia.com/operator.mofed.wait"
_VERSION, _READY, _LOG = "sys/module/mlx5_core/version", "run/mellanox/drivers/.driver-ready", "dev/kmsg"


class PlayedOperator(Played):
    """At work on these nodes, whose files are as before at the end.

    While it is ``flooding``, a driver never gets ready and repeats an error.
    """

    def __init__(self, cluster: dynamic.DynamicClient, namespace: str, nodes: Path, names: List[str]) -> None:
        super().__init__()
        self._cluster, self._namespace, self._nodes, self._names = cluster, namespace, nodes, names
        self.flooding = False
        self.loaded: List[str] = []
        self.history: List[str] = []

    def __enter__(self) -> PlayedOperator:
        for name in self._names:
            self._write(name, _LOG, "6,100,1,-;mlx5_core 0000:19:00.0: firmware version: 20.39\n")
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        try:
            super().__exit__(*raised)
        finally:
            for name in self._names:
                for path in (_LOG, _VERSION, _READY):
                    (self._nodes / name / path).unlink(missing_ok=True)

    def _write(self, name: str, path: str, text: str) -> None:
        full = self._nodes / name / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")

    def round(self) -> None:
        for node in self._cluster.resources.get(api_version="v1", kind="Node").get().to_dict()["items"]:
            self._see(node["metadata"])

    def _see(self, meta: Dict[str, Any]) -> None:
        name, value = meta["name"], meta.get("labels", {}).get(LABEL, "")
        policies = self._cluster.resources.get(api_version="mellanox.com/v1alpha1", kind="NicNodePolicy")
        wanted = name in self._names and value.endswith(".ofed") and self._asked(policies, value)
        if wanted and name not in self.loaded:
            self.loaded.append(name)
            self.history.append(f"{name} on")
            self._label(name, "true")
            self._pods().create(body=self._pod(name), namespace=self._namespace)
            if self.flooding:
                lines = "".join(f"3,{101 + count},2,-;mlx5_core 0000:19:00.0: error\n" for count in range(5000))
                self._write(name, _LOG, lines)
            else:
                self._write(name, _VERSION, "26.07-0.7.0\n")
                self._write(name, _READY, "")
                self._label(name, "false")
        elif not wanted and name in self.loaded:
            self.loaded.remove(name)
            self.history.append(f"{name} off")
            for path in (_READY, _VERSION):
                (self._nodes / name / path).unlink(missing_ok=True)
            self._pods().delete(name=f"mofed-{name}", namespace=self._namespace, body={"gracePeriodSeconds": 0})
            self._label(name, "false")

    def _asked(self, policies: Any, value: str) -> bool:
        specs = [item["spec"] for item in policies.get().to_dict()["items"]]
        return any(spec.get("nodeSelector") == {LABEL: value} and "ofedDriver" in spec for spec in specs)

    def _pods(self) -> Any:
        return self._cluster.resources.get(api_version="v1", kind="Pod")

    def _label(self, name: str, value: str) -> None:
        kind = self._cluster.resources.get(api_version="v1", kind="Node")
        change = {"metadata": {"labels": {WAITS: value}}}
        kind.patch(name=name, body=change, content_type="application/merge-patch+json")

    def _pod(self, name: str) -> Object:
        """As the operator's template has it, as far as it matters here."""
        container = {
            "name": "mofed-container",
            "image": "nvcr.io/nvidia/mellanox/doca-driver:26.07",
            "securityContext": {"privileged": True},
            "volumeMounts": [{"name": "dev-infiniband", "mountPath": "/dev/infiniband"}],
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"mofed-{name}", "labels": {"nvidia.com/ofed-driver": ""}},
            "spec": {
                "nodeName": name,
                "hostNetwork": True,
                "tolerations": [{"operator": "Exists"}],
                "containers": [container],
                "volumes": [{"name": "dev-infiniband", "hostPath": {"path": "/dev/infiniband"}}],
            },
        }
