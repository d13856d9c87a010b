# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""benchmark.yml against a real API server and scheduler. The nodes are objects only, so their kubelets
are played (:mod:`kubelets`): pods ran, and the figures in their logs are invented.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Sequence

import pytest
from kubernetes import dynamic

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet, Object
from ansible_collections.zerocopy.rdma.tests.cluster.kubelets import PATCH, PlayedKubelets
from ansible_collections.zerocopy.rdma.tests.cluster.provision import Playbook, make_set_of_inventory
from ansible_collections.zerocopy.rdma.tests.unit._prove.benchmark.benchmark_log import log

# A fixture that is defined elsewhere.
__all__ = ["make_set_of_inventory"]

NODES = ["v100-01", "v100-02"]
RESOURCE = "rdma/rdma_v100"


class BenchmarkKubelets(PlayedKubelets):
    """Of all pods of a namespace: they run until an initiator is there, and have ended as soon as it was seen."""

    def __init__(self, cluster: dynamic.DynamicClient, namespace: str) -> None:
        super().__init__(cluster, namespace=namespace)
        self._met = False
        self.seen: Dict[str, Dict[str, Any]] = {}
        self.logs: Dict[str, str] = {}

    def look(self, pods: Sequence[Object]) -> Sequence[Object]:
        self._met = any(one["metadata"]["name"].startswith("rdma-benchmark-initiator-") for one in pods)
        return pods

    def status(self, pod: Object) -> Optional[Object]:
        if pod["status"].get("phase") == "Succeeded":
            return None
        self.seen[pod["metadata"]["name"]] = pod
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        state = {"terminated": {"exitCode": 0, "startedAt": now}} if self._met else {"running": {"startedAt": now}}
        container = {
            "name": "probe",
            "ready": True,
            "restartCount": 0,
            "image": "i",
            "imageID": "i",
            "state": state,
        }
        phase = "Succeeded" if self._met else "Running"
        return {"podIP": "192.0.2.7", "phase": phase, "containerStatuses": [container]}

    def log(self, path: str) -> str:
        """What the API server asks a kubelet for: /containerLogs/NAMESPACE/POD/CONTAINER."""
        environment = {
            entry["name"]: entry.get("value", "")
            for entry in self.seen[path.split("/")[3]]["spec"]["containers"][0]["env"]
        }
        return "READY 5555\n" if environment["ZEROCOPY_SERVER"] else self.logs[environment["UCX_TLS"]]


@pytest.fixture(name="kubelets")
def make_kubelets(
    cluster: dynamic.DynamicClient, cluster_set: ClusterSet, tmp_path: Path
) -> Iterator[BenchmarkKubelets]:
    found = BenchmarkKubelets(cluster, cluster_set.namespace)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(found.log(self.path.partition("?")[0]).encode())

        def log_message(self, *_arguments: object) -> None:
            return

    key, certificate = tmp_path / "key", tmp_path / "certificate"
    names = ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=kubelet"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names], check=True, capture_output=True
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    nodes = cluster.resources.get(api_version="v1", kind="Node")
    for name in NODES:
        status: Dict[str, Any] = {kind: {RESOURCE: "1"} for kind in ("capacity", "allocatable")}
        status["addresses"] = [{"type": "InternalIP", "address": "127.0.0.1"}]
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": server.server_port}}
        nodes.status.patch(name=name, body={"status": status}, content_type=PATCH)
    with found:
        yield found
    server.shutdown()
    serving.join()
    server.server_close()


def test_pairs_run_and_are_gone(
    cluster_set: ClusterSet, kubelets: BenchmarkKubelets, playbook: Playbook, tmp_path: Path
) -> None:
    own: Dict[str, Any] = {
        # Each host more costs time, and the pairs of a group are its own.
        "rdma_hosts": "v100",
        "rdma_benchmark_image": "example.org/none:v1",
        "rdma_benchmark_templates": [RESOURCE],
        "rdma_benchmark_namespace": cluster_set.namespace,
        "rdma_benchmark_directory": str(tmp_path / "benchmark"),
        "rdma_benchmark_repetitions": 1,
        "rdma_benchmark_fraction": 0,
        # What the logs of the played pods have.
        "rdma_benchmark_operations": ["WRITE"],
        "rdma_benchmark_block_sizes": [1 << 30],
    }
    # A dry run says what would be run, and makes no pod.
    lines = [f"v100: {name}, from v100-02 to v100-01, 1 times" for name in (RESOURCE, "tcp")]
    planned = playbook.example("--check", name="benchmark.yml", **own, rdma_benchmark_floor=False)
    assert planned["List the pairs"]["msg"] == lines[:1]
    assert kubelets.seen == {}
    assert not (tmp_path / "benchmark").exists()

    kubelets.logs = {"rc,ud,self": log("rc_mlx5/mlx5_0:1", 0.1), "tcp": log("tcp/eth0", 1)}
    ran = playbook.example(name="benchmark.yml", **own)
    assert ran["List the pairs"]["msg"] == lines
    document = json.loads((tmp_path / "benchmark" / "benchmark.json").read_text())
    assert document["errors"] == []
    assert [(run["template"], run["devices"]) for run in document["runs"]] == [(RESOURCE, ["mlx5_0"]), ("tcp", [])]
    assert {(run["initiator"]["node"], run["target"]["node"]) for run in document["runs"]} == {("v100-02", "v100-01")}
    assert sorted(pod["spec"]["nodeName"] for pod in kubelets.seen.values()) == sorted(NODES * 2)
    assert cluster_set.kubectl("get", "pods", "-n", cluster_set.namespace, "-o", "name") == ""
