# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""NVIDIA's DRA driver 0.5.0 at work on nodes of the recorded fleet, which are objects and directories.

Real are the driver, its chart, the pods of its DaemonSet and their rights. The kubelet and the runtime are played
(tests/lab/gpu_driver/container.py), and the driver for GPUs below it is the lab's stand-in, which tells of the GPUs
what the node's facts have.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping

from gpu_driver import container, driver_root, image, programs
from guest import nvidia_driver
from kubernetes import dynamic
from vmlab import tools

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import predict
from ansible_collections.zerocopy.rdma.tests.cluster import node_pods
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node
from ansible_collections.zerocopy.rdma.tests.cluster.helm import HelmRole, changed

Object = Dict[str, Any]
NAMESPACE = "dra-driver-nvidia-gpu"
DRIVER = "gpu.nvidia.com"
INIT, MAIN = "init-container", "gpus"
# Of all drivers on one machine, so that none has a port of another.
_NO_PORTS = {"metrics": {"enabled": False}, "containers": {"gpus": {"healthcheckPort": 0}}}
VALUES = {"featureGates": {"NVMLDeviceHealthCheck": True}, "kubeletPlugin": _NO_PORTS}
_SECONDS = node_pods.SECONDS
# Those that NVML knows by these numbers, with what CUDA can do on them.
_ARCHITECTURES = {
    "Volta": (5, "7.0"),
    "Turing": (6, "7.5"),
    "Ampere": (7, "8.0"),
    "Hopper": (9, "9.0"),
    "Blackwell": (10, "10.0"),
}


def gpus(facts: Object) -> List[nvidia_driver.Gpu]:
    """The GPUs of a node as the stand-in tells of them; minor numbers are those of the order on the bus."""
    return [_gpu(one) for one in facts["gpus"]]


def _gpu(one: Object) -> nvidia_driver.Gpu:
    pci = one["pci"]
    architecture, capability = _ARCHITECTURES[str(predict.architecture(one["model"]))]
    own = pci["device_id"] + pci["vendor_id"]
    return nvidia_driver.Gpu(
        one["index"], pci["address"], own, one["uuid"], 81559, architecture, capability, one["model"]
    )


def install(root: Path, found: List[nvidia_driver.Gpu]) -> None:
    """Add the stand-in for NVIDIA's driver to a directory that looks like ``/`` of a node."""
    for path, source in driver_root.installed().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / path)
        (root / path).chmod(0o755)
    nvidia_driver.link(root)
    nvidia_driver.describe(root, found)
    nvidia_driver.make_nodes(root, found)
    (root / "run/lab-gpu").mkdir(parents=True, exist_ok=True)


class NvidiaNodes:
    """``plane`` is a ``lifecycle.ControlPlane``; all files are below ``scratch``."""

    def __init__(self, plane: Any, cluster: dynamic.DynamicClient, scratch: Path) -> None:
        self._plane, self._cluster, self._scratch = plane, cluster, scratch
        self._images: Dict[str, Path] = {}
        self._deployed = ""
        self._running: Dict[str, subprocess.Popen[bytes]] = {}
        self._containers: Dict[str, container.Containers] = {}

    def deploy(self, release: programs.Release) -> None:
        """By the role rdma_driver, with the chart of the module."""
        chart = str(release.chart())
        role = HelmRole("rdma_driver", self._plane.kubeconfig, self._scratch, gpu_chart=chart, gpu_deploy=True)
        assert changed(role("chart", gpu_version=release.version, gpu_values=VALUES)) == 1
        self._deployed = image.name(release)
        if self._deployed not in self._images:
            files = image.files(release)
            self._images[self._deployed] = container.unpack(files, self._scratch / f"image-{release.version}")

    def root(self, name: str) -> Path:
        """The directory of a node."""
        return self._scratch / name / "root"

    def add(self, name: str, recorded: Path, found: List[nvidia_driver.Gpu]) -> None:
        """Make a node of a copy of a directory, with these GPUs."""
        shutil.copytree(recorded, self.root(name), symlinks=True)
        install(self.root(name), found)
        body = node(name)
        body["metadata"]["labels"]["nvidia.com/gpu.present"] = "true"
        self._cluster.resources.get(api_version="v1", kind="Node").create(body=body)

    def run(self, name: str) -> None:
        """Run the pod of the driver on a node."""
        pod = node_pods.pod_on(self._cluster, NAMESPACE, name, self._deployed)
        directory = self._scratch / name / pod["metadata"]["name"]
        directory.mkdir()
        account = node_pods.account(self._plane, pod, directory / "account")
        containers = container.Containers(directory, self._images[self._deployed], self.root(name), pod, account)
        api = node_pods.environment(self._plane)
        assert containers.start(INIT, **api).wait(_SECONDS) == 0, containers.log(INIT)
        self._running[name] = containers.start(MAIN, **api)
        self._containers[name] = containers

    def end(self, name: str) -> None:
        """End the pod of the driver, as the kubelet does when it is deleted."""
        self._kill(name)
        pods = self._cluster.resources.get(api_version="v1", kind="Pod")
        pods.delete(namespace=NAMESPACE, field_selector=f"spec.nodeName={name}", body={"gracePeriodSeconds": 0})

    def stop(self) -> None:
        for name in list(self._running):
            self._kill(name)

    def _kill(self, name: str) -> None:
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def until(self, name: str, met: Callable[[List[Object]], bool]) -> List[Object]:
        """The devices that the driver publishes for a node, once they are so."""
        slices = self._cluster.resources.get(api_version="resource.k8s.io/v1", kind="ResourceSlice")
        seen: List[Object] = []
        for event in slices.watch(field_selector=f"spec.nodeName={name},spec.driver={DRIVER}", timeout=_SECONDS):
            seen = event["raw_object"]["spec"]["devices"] if event["type"] != "DELETED" else []
            if met(seen):
                return seen
        said = self._containers[name].log(MAIN)[-3000:]
        raise AssertionError(f"{name}: not within {_SECONDS} s; published is {seen}; the driver says\n{said}")

    def prepare(self, name: str, what: str, claim: Mapping[str, Any]) -> Object:
        """Have the driver of a node prepare or unprepare a claim, as the kubelet does, and what it answers."""
        # From there, because the whole path is too long for a socket.
        directory = self.root(name) / "var/lib/kubelet/plugins" / DRIVER
        meta = claim["metadata"]
        argv = [str(tools.build(programs.KUBELET)), "dra.sock", what, meta["namespace"], meta["name"], meta["uid"]]
        done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + self._containers[name].log(MAIN)[-3000:]
        answer: Object = json.loads(done.stdout)["claims"][meta["uid"]]
        return answer
