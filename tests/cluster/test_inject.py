# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The daemon against the runtime's side of NRI, the Go package that containerd and CRI-O have (tests/lab/nri_runtime).

Its node is a recorded one of the fleet.
"""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
from vmlab import nri
from vmlab.nri import NriRuntime

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject import daemon_options
from ansible_collections.zerocopy.rdma.tests.cluster import accounts
from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import ClusterSet

POD = {"name": "p", "namespace": "llm", "linux": {"namespaces": [{"type": "pid"}]}}
EVERYONE = {**POD, "annotations": {"rdma.zerocopy.io/nics": "nearest"}}
ASKING = {**POD, "annotations": {f"rdma.zerocopy.io/nics.{name}": "nearest" for name in ("main", "no-gpu")}}
GPU = {"name": "main", "env": ["NVIDIA_VISIBLE_DEVICES=0", "UCX_NET_DEVICES=mlx5_9:1"]}
# Far above what a slow machine needs: until then a test waits for what does not come.
SECONDS = 600


class Place:
    """A directory with all that a daemon and a runtime share."""

    def __init__(self, directory: Path, root: Path, program: Path) -> None:
        self.socket, self.status = directory / "nri.sock", directory / "status.json"
        self.config, self._program, self._file = directory / "inject.json", program, directory / "inject.pyz"
        self._file.write_bytes(daemon_options.program())
        self._root = root
        self.config.write_text(json.dumps({"metrics": str(directory / "inject.prom")}))
        self.metrics = directory / "inject.prom"
        self._running: List[Any] = []

    def runtime(self) -> NriRuntime:
        runtime = NriRuntime(self._program, self.socket)
        self._running.append(runtime)
        return runtime

    def daemon(self) -> subprocess.Popen[str]:
        argv = [sys.executable, "-I", str(self._file), "--config", str(self.config), "--status", str(self.status)]
        process = subprocess.Popen(
            [*argv, "--socket", str(self.socket), "--root", str(self._root)], stderr=subprocess.PIPE, text=True
        )
        self._running.append(process)
        return process

    def kill(self) -> None:
        """Ends whatever somebody waits for."""
        for one in self._running:
            one.kill()

    def stop(self) -> None:
        for one in reversed(self._running):
            if isinstance(one, NriRuntime):
                one.stop(SECONDS)
            else:
                one.kill()
                one.wait(SECONDS)


def log(daemon: subprocess.Popen[str], message: str) -> Dict[str, Any]:
    """Wait for this line of its log."""
    assert daemon.stderr
    for line in daemon.stderr:
        found: Dict[str, Any] = json.loads(line)
        if found["message"] == message:
            return found
    raise AssertionError(f"ended without: {message}")


def devices(answer: Dict[str, Any]) -> List[str]:
    given = (answer.get("adjust") or {}).get("linux", {}).get("devices", [])
    return [f"{entry['path']} {entry['major']}:{entry['minor']}" for entry in given]


@pytest.fixture
def place(tmp_path: Path, root_of: Callable[[str], Path]) -> Iterator[Place]:
    made = Place(tmp_path, root_of("h100-01"), nri.program())
    watchdog = threading.Timer(SECONDS, made.kill)
    watchdog.start()
    yield made
    watchdog.cancel()
    made.stop()


def test_devices_for_who_asks_and_nothing_for_others(place: Place) -> None:
    runtime, daemon = place.runtime(), place.daemon()
    runtime.await_event("synchronized")
    log(daemon, "registered")
    found = runtime.create(ASKING, GPU)
    assert devices(found) == ["/dev/infiniband/uverbs0 231:192", "/dev/infiniband/rdma_cm 10:121"]
    environment = {entry["key"]: entry["value"] for entry in found["adjust"]["env"]}
    assert environment["NCCL_IB_HCA"] == "=mlx5_0:1"
    assert "UCX_NET_DEVICES" not in environment
    assert found["adjust"]["rlimits"] == [{"type": "RLIMIT_MEMLOCK", "hard": str(2**64 - 1), "soft": str(2**64 - 1)}]

    other = runtime.create(POD, GPU)
    assert devices(other) == []
    assert "env" not in other["adjust"]
    refused = runtime.create(ASKING, {"name": "no-gpu"})
    assert "no RDMA devices for llm/p, container no-gpu" in refused["error"]
    # Asked for the whole pod, it is not for a sidecar.
    assert devices(runtime.create(EVERYONE, {"name": "sidecar"})) == []
    assert devices(runtime.create(EVERYONE, GPU)) == devices(found)

    # The old configuration stays where the new one is wrong.
    place.config.write_text('{"missing": "never"}')
    daemon.send_signal(signal.SIGHUP)
    assert "one of refuse, start" in log(daemon, "the new configuration is wrong, so the old one stays")["error"]
    assert runtime.create(ASKING, {"name": "no-gpu"})["error"]
    place.config.write_text(json.dumps({"missing": "start", "metrics": str(place.metrics)}))
    daemon.send_signal(signal.SIGHUP)
    log(daemon, "the configuration was read again")
    assert "error" not in runtime.create(ASKING, {"name": "no-gpu"})

    daemon.terminate()
    assert daemon.wait(SECONDS) == 0
    status = json.loads(place.status.read_text())
    assert [status[key] for key in ("injected", "refused", "without", "config_error")] == [2, 2, 1, None]
    assert status["hcas"]["mlx5_3"] == {"state": "ACTIVE", "gpus": [3]}
    assert not place.metrics.exists()
    # Without it, nothing is injected, and nothing waits for it.
    assert devices(runtime.create(ASKING, GPU)) == []


def test_it_follows_the_runtime_and_comes_back_after_a_kill(place: Place) -> None:
    daemon = place.daemon()
    first = place.runtime()
    first.await_event("synchronized")
    log(daemon, "registered")
    assert devices(first.create(ASKING, GPU))
    first.stop(SECONDS)
    log(daemon, "disconnected")
    second = place.runtime()
    second.await_event("synchronized")
    log(daemon, "registered")
    assert devices(second.create(ASKING, GPU))

    daemon.kill()
    daemon.wait(SECONDS)
    assert devices(second.create(ASKING, GPU)) == []
    again = place.daemon()
    second.await_event("synchronized")
    log(again, "registered")
    # Once, not twice: a device that two plugins gave would be an error.
    assert devices(second.create(ASKING, GPU)) == ["/dev/infiniband/uverbs0 231:192", "/dev/infiniband/rdma_cm 10:121"]


def test_while_it_hangs_the_runtime_goes_on_without_it(place: Place) -> None:
    runtime, daemon = place.runtime(), place.daemon()
    runtime.await_event("synchronized")
    log(daemon, "registered")
    daemon.send_signal(signal.SIGSTOP)
    # NRI drops a plugin that does not answer within its time limit.
    late = runtime.create(ASKING, GPU)
    assert devices(late) == []
    daemon.send_signal(signal.SIGCONT)
    assert log(daemon, "answered too late, so the container starts without devices")["meant"] == "injected"
    runtime.await_event("synchronized")
    log(daemon, "registered")
    assert devices(runtime.create(ASKING, GPU))


DEVICES = "devices.noderesource.dev/pod"
NICS = "rdma.zerocopy.io/nics"
NEAREST = {NICS: "nearest"}
SECRET = "0,hunter2"
# By the name of a pod: its annotations, NVIDIA_VISIBLE_DEVICES, and why its container does not start.
TENANTS: Dict[str, Tuple[Dict[str, str], str, str]] = {
    "manages": ({DEVICES: "- path: /dev/infiniband/umad3"}, "", "/dev/infiniband/umad3 can manage the fabric"),
    "excluded": ({NICS: "mlx5_2"}, "", "mlx5_2: not on this node, or excluded from workloads"),
    "excluded-device": ({DEVICES: "- path: /dev/infiniband/uverbs2"}, "", "uverbs2: not on this node, or excluded"),
    "elsewhere": ({DEVICES: "- path: /dev/mem"}, "", ""),
    "manager": ({DEVICES: "- path: /dev/infiniband/rdma_cm"}, "", ""),
    "deep": ({DEVICES: "[" * 30000}, "", ""),
    "long": (NEAREST, "0," * 15000, "of unknown form of the container cannot be identified"),
    "many": (NEAREST, ",".join(f"x{number}" for number in range(2000)), "of unknown form of the container cannot be"),
    "secret": (NEAREST, SECRET, "1 GPU of unknown form of the container cannot be identified"),
    "steering": ({NICS: "mlx5_0\x1b[2J\u202e"}, "", "is not nearest, none, or names of HCAs"),
}


def pod_of_tenant(name: str) -> Dict[str, Any]:
    annotations, visible, _why = TENANTS.get(name, (NEAREST, "0", ""))
    variable: Dict[str, Any] = {"name": "NVIDIA_VISIBLE_DEVICES", "value": visible}
    if name == "secret":
        variable = {"name": variable["name"], "valueFrom": {"secretKeyRef": {"name": "gpus", "key": "visible"}}}
    container = {"name": "main", "image": "example.org/none:v1", "env": [variable]}
    meta = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def told_by_kubelet(cluster_set: ClusterSet, name: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The pod and its container as the kubelet has the runtime create them, from what the API server has."""
    pod = cluster_set.get("pod", name)
    (container,) = pod["spec"]["containers"]
    env = []
    for variable in container["env"]:
        value = variable.get("value", "")
        if "valueFrom" in variable:
            key = variable["valueFrom"]["secretKeyRef"]
            value = base64.b64decode(cluster_set.get("secret", key["name"])["data"][key["key"]]).decode()
        env.append(f"{variable['name']}={value}")
    annotations = pod["metadata"]["annotations"]
    told = {**POD, "name": name, "namespace": pod["metadata"]["namespace"], "annotations": annotations}
    return told, {"name": container["name"], "env": env}


def test_a_tenant_gets_what_the_admin_gives(place: Place, cluster_set: ClusterSet) -> None:
    """Who may edit one namespace asks by pods of that namespace, as far as the API server takes them."""
    namespace = cluster_set.namespace
    place.config.write_text(json.dumps({"exclude": ["mlx5_2"], "metrics": str(place.metrics)}))
    runtime, daemon = place.runtime(), place.daemon()
    runtime.await_event("synchronized")
    registered = log(daemon, "registered")
    # The rest of its log.
    lines: List[str] = []
    reading = threading.Thread(target=lambda: lines.extend(daemon.stderr or ()))
    reading.start()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "gpus"}, "stringData": {"visible": SECRET}}
    items = [secret, *(pod_of_tenant(name) for name in (*TENANTS, "sound"))]
    with accounts.tenant(cluster_set, namespace) as tenant:
        options = ("--validate=false", "-n", namespace, "-f", "-")
        tenant("create", *options, stdin={"apiVersion": "v1", "kind": "List", "items": items})
    said = {}
    for name, (_annotations, _visible, why) in TENANTS.items():
        pod, container = told_by_kubelet(cluster_set, name)
        answer = runtime.create(pod, container)
        said[name] = answer.get("error", "")
        assert (why in said[name]) if why else (said[name] == ""), (name, answer)
        assert devices(answer) == (["/dev/infiniband/rdma_cm 10:121"] if name == "manager" else []), name
        assert "rlimits" not in (answer.get("adjust") or {}), name
        # Nobody else has waited for that, or goes without.
        others = runtime.create(*told_by_kubelet(cluster_set, "sound"))
        assert devices(others) == ["/dev/infiniband/uverbs0 231:192", "/dev/infiniband/rdma_cm 10:121"], name
    daemon.terminate()
    assert daemon.wait(SECONDS) == 0
    reading.join()
    status = place.status.read_text()
    assert json.loads(status)["refused"] == sum(bool(why) for _annotations, _visible, why in TENANTS.values())
    for text in (said["secret"], status, str(registered), *lines):
        assert "hunter2" not in text
    assert any("steering" in line for line in lines)
    assert {char for line in lines for char in line if not char.isprintable()} <= {"\n"}
    assert max(map(len, said.values())) < 4096
