# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""DRANET at work on a node of the recorded fleet, which is an object and a directory, and the daemon that it asks.

Real are the driver, its DaemonSet with the arguments that the collection gives it, its rights, the daemon, and the
runtime's side of NRI (tests/lab/nri_runtime). The kubelet is played. The network is that of this machine, so no netdev
belongs to a NIC of the node: they look as if they were in pods, or have none, as with InfiniBand alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from cluster import node_programs
from gpu_driver import container
from kubernetes import dynamic
from vmlab import nri, tools
from vmlab.progress import await_condition

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import daemon_options, names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment, objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory
from ansible_collections.zerocopy.rdma.tests.cluster import node_pods
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import node
from ansible_collections.zerocopy.rdma.tests.cluster.node_pods import SECONDS, Object

_GROUP = "group"
# Below that of the node: what the DaemonSet mounts from it.
_REGISTRATION = "var/lib/kubelet/plugins_registry/dra.net-reg.sock"
_NRI = "var/run/nri/nri.sock"
VARIABLES = {
    "rdma_driver_attributes": True,
    "rdma_driver_poll_min_interval": "1s",
    "rdma_driver_poll_max_interval": "1s",
}


def _register(socket: Path) -> None:
    """As the kubelet's plugin watcher does: it asks who this is, and says that it has registered it.

    The messages are those of ``pluginregistration/v1/api.proto`` of k8s.io/kubelet, each with gRPC's prefix of a flag
    and a length: an empty InfoRequest, and a RegistrationStatus in which ``plugin_registered`` (field 1) is true.
    """
    # It speaks HTTP/2 to a Unix socket, which no library that the tests have does.
    curl = ["curl", "--silent", "--show-error", "--fail", "--http2-prior-knowledge", "--unix-socket", str(socket)]
    grpc = ["--header", "Content-Type: application/grpc", "--header", "TE: trailers", "--data-binary", "@-"]
    for call, message in (("GetInfo", b""), ("NotifyRegistrationStatus", b"\x08\x01")):
        subprocess.run(
            [*curl, *grpc, f"http://localhost/pluginregistration.Registration/{call}"],
            input=b"\0" + len(message).to_bytes(4, "big") + message,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )


class DranetNode:
    """``plane`` is a ``lifecycle.ControlPlane``; ``scratch`` has a short path, because sockets are below it."""

    def __init__(self, plane: Any, cluster: dynamic.DynamicClient, scratch: Path, name: str, recorded: Path) -> None:
        self.name, self._plane, self._cluster, self._scratch = name, plane, cluster, scratch
        self.root, self.config = scratch / "root", scratch / "attributes.json"
        shutil.copytree(recorded, self.root, symlinks=True)
        for path in (names.SOCKET.lstrip("/"), _REGISTRATION, _NRI):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        own = {"usr/bin/env": Path(str(shutil.which("env")))}
        dranet = tools.build(node_programs.DRANET).read_bytes()
        self._image = container.unpack({**container.with_libraries(own), "dranet": dranet}, scratch / "image")
        self._daemon_file = scratch / "attributes.pyz"
        self._daemon_file.write_bytes(daemon_options.program())
        self._runtime = nri.NriRuntime(nri.program(), self.root / _NRI)
        self._daemon: Optional[subprocess.Popen[bytes]] = None
        self._driver: Optional[subprocess.Popen[bytes]] = None
        self._containers: Optional[container.Containers] = None

    def deploy(self) -> None:
        """Make the node and the objects of the driver."""
        hosts = [InventoryHost(self.name, _GROUP, VARIABLES)]
        plan = deployment.plan(hosts, _inventory.options({}))
        assert plan.problems == []
        body = node(self.name)
        body["metadata"]["labels"][objects.GROUP_LABEL] = _GROUP
        for one in [body, *plan.objects]:
            resource = self._cluster.resources.get(api_version=one["apiVersion"], kind=one["kind"])
            resource.create(body=one, namespace=one["metadata"].get("namespace"))

    def write(self, devices: Mapping[str, Any]) -> None:
        """The daemon's file, as prepare replaces it."""
        other = self.config.with_name("new.json")
        other.write_text(json.dumps({"devices": devices}))
        other.replace(self.config)

    def start_daemon(self) -> None:
        socket = self.root / names.SOCKET.lstrip("/")
        argv = [sys.executable, "-I", str(self._daemon_file), "--config", str(self.config), "--socket", str(socket)]
        self._daemon = subprocess.Popen(argv)
        await_condition("the daemon listens", socket.exists, seconds=SECONDS)

    def end_daemon(self) -> None:
        """As when it is killed: nobody listens on the socket that it leaves."""
        assert self._daemon
        self._daemon.kill()
        self._daemon.wait()

    def start_driver(self) -> subprocess.Popen[bytes]:
        """Run the driver's pod, whose plugin the kubelet has not registered yet."""
        sets = self._cluster.resources.get(api_version="apps/v1", kind="DaemonSet")
        (daemon_set,) = sets.get(label_selector=objects.SELECTOR).to_dict()["items"]
        image = daemon_set["spec"]["template"]["spec"]["containers"][0]["image"]
        pod = node_pods.pod_on(self._cluster, daemon_set["metadata"]["namespace"], self.name, image)
        directory = self._scratch / f"pod-{len(list(self._scratch.glob('pod-*')))}"
        directory.mkdir()
        account = node_pods.account(self._plane, pod, directory / "account")
        # It mounts /dev/infiniband, which this machine need not have.
        self._containers = container.Containers(directory, self._image, self.root, pod, account, self.root / "dev")
        self._driver = self._containers.start("dranet", **node_pods.environment(self._plane))
        return self._driver

    def register(self) -> None:
        socket = self.root / _REGISTRATION
        await_condition("the driver asks to be registered", socket.exists, seconds=SECONDS, note=self.log)
        _register(socket)
        self._runtime.await_event("synchronized")

    def log(self) -> str:
        """The end of what the driver has said."""
        return self._containers.log("dranet")[-5000:] if self._containers else ""

    def until(self, met: Callable[[Dict[str, model.SliceDevice]], bool]) -> Dict[str, model.SliceDevice]:
        """The devices that the driver publishes, by PCI address, once they are so."""
        slices = self._cluster.resources.get(api_version="resource.k8s.io/v1", kind="ResourceSlice")
        seen: Dict[str, model.SliceDevice] = {}
        for event in slices.watch(field_selector=f"spec.nodeName={self.name}", timeout=SECONDS):
            published: List[Object] = [] if event["type"] == "DELETED" else [event["raw_object"]]
            seen = {str(device.pci): device for device in model.devices(published)}
            if met(seen):
                return seen
        raise AssertionError(f"not within {SECONDS} s; published is {seen}; the driver says\n{self.log()}")

    def stop(self) -> None:
        for process in (self._driver, self._daemon):
            if process is not None:
                process.kill()
                process.wait()
        self._runtime.kill()
