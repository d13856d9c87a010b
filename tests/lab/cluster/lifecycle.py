# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The life of the cluster: guests, a control plane in their network, and the guests as nodes of it."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Optional

from control_plane import lifecycle as control_plane
from control_plane import programs
from control_plane.components import SERVICE_ADDRESS, SERVICE_PORT
from vmlab import lifecycle as guests
from vmlab import network
from vmlab.paths import NAME, NAMESPACE, RUN, SSH_CONFIG
from vmlab.progress import LabError, await_condition, run, step
from vmlab.topology import CLUSTER_NODES, GATEWAY, NICS, NODES, Node

from . import images, node_files, node_programs

# An administrator's, for whoever is on this machine; below it the programs for them.
KUBECONFIG = RUN / "kubeconfig"
DRANET_ARCHIVE = RUN / "dranet.tar"
_HERE = Path(__file__).resolve().parent
_READY_SECONDS = 300
# No other unless asked: whenever a link of a node changes, DRANET looks for the HCA of each netdev, and for that reads
# the GIDs of all HCAs, of which Soft-RoCE has 1024 each.
_RAILS = ("rail5", "rail6")


def up(more: Sequence[str] = ()) -> None:
    """Start the guests, with ``more`` NICs by role, and a control plane that they can reach; no nodes of it yet."""
    node_programs.build_all()
    archive = images.dranet()
    guests.up(CLUSTER_NODES, [nic for nic in NICS if nic.role in (*_RAILS, *more)])
    if not KUBECONFIG.exists():
        _start_control_plane()
        _start_relay()
    for link, target in ((DRANET_ARCHIVE, archive), (RUN / "kubectl", programs.build()["kubectl"])):
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def down() -> None:
    """Stop and remove everything, whatever state a failure or a kill has left."""
    control_plane.down(NAME)
    guests.down()


def _start_control_plane() -> None:
    # Pods reach the API server by the Service's address, which the namespace has itself: no kube-proxy is needed.
    run(["ip", "-n", NAMESPACE, "address", "replace", f"{SERVICE_ADDRESS}/32", "dev", "lo"])
    control_plane.down(NAME)
    inside = ["ip", "netns", "exec", NAMESPACE, sys.executable, str(_HERE.with_name("control_plane"))]
    run([*inside, "up", "--name", NAME, "--address", str(GATEWAY)])
    # And pods that are not in the network of their node get its answers.
    for node in NODES:
        run(["ip", "-n", NAMESPACE, "route", "replace", node_files.pod_subnet(node), "via", node.address])


def _start_relay() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        argv = ["ip", "netns", "exec", NAMESPACE, sys.executable, str(_HERE / "relay.py"), str(listener.fileno())]
        with (RUN / "relay.log").open("w") as log:
            subprocess.Popen(
                [*argv, str(GATEWAY), str(SERVICE_PORT)],
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        port = listener.getsockname()[1]
    authority = control_plane.authority(NAME)
    admin = authority.issue("ansible", "lab-admin", groups=["system:masters"])
    authority.kubeconfig(KUBECONFIG, f"https://127.0.0.1:{port}", admin)
    kubectl("get", "--raw", "/readyz")


def kubectl(*argv: str, stdin: Optional[str] = None) -> str:
    """Ask the API server as an administrator."""
    return run([str(programs.build()["kubectl"]), f"--kubeconfig={KUBECONFIG}", *argv], stdin=stdin)


def join() -> None:
    """Make every guest that is no node yet one, and wait until all are ready."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(_join, NODES))
    with step("until all nodes are Ready"):
        await_condition("nodes", _all_ready, seconds=_READY_SECONDS, note=lambda: kubectl("get", "nodes", "-o", "wide"))


def _join(node: Node) -> None:
    if network.ssh(node.name, "systemctl is-active kubelet").returncode == 0:
        return
    with step(f"{node.name}: copying programs and configuration"):
        send(node, node_files.of(node, NAME))
    image = _HERE.with_name("guest") / "container_image.py"
    commands = [
        "systemctl daemon-reload",
        "systemctl restart containerd",
        f"python3 - load <<'PROGRAM'\n{image.read_text()}\nPROGRAM",
        "systemctl enable --now kubelet",
    ]
    with step(f"{node.name}: starting containerd and kubelet"):
        done = network.ssh(node.name, "set -e\n" + "\n".join(commands))
    if done.returncode:
        raise LabError(f"{node.name} does not become a node: {done.stdout}{done.stderr}")


def send(node: Node, files: Mapping[str, node_files.File]) -> None:
    """Unpack the files over the root of the guest."""
    argv = ["ssh", "-F", str(SSH_CONFIG), "-o", "BatchMode=yes", node.name]
    with subprocess.Popen([*argv, "tar -xz -C / --no-same-owner"], stdin=subprocess.PIPE) as process:
        assert process.stdin
        # An emulated guest decompresses faster than it decrypts.
        packed = gzip.GzipFile(fileobj=process.stdin, mode="wb", compresslevel=1)
        with packed, tarfile.open(fileobj=packed, mode="w|") as archive:
            for path, file in files.items():
                text = file.content if isinstance(file.content, str) else None
                entry = tarfile.TarInfo(path)
                entry.mode = file.mode
                entry.size = len(text.encode()) if text is not None else os.path.getsize(file.content)
                with io.BytesIO(text.encode()) if text is not None else open(file.content, "rb") as source:
                    archive.addfile(entry, source)
        process.stdin.close()
        if process.wait():
            raise LabError(f"{node.name}: files could not be unpacked: exit code {process.returncode}")


def _all_ready() -> bool:
    ready = set()
    for item in json.loads(kubectl("get", "nodes", "-o", "json"))["items"]:
        if {("Ready", "True")} & {(one["type"], one["status"]) for one in item["status"].get("conditions", [])}:
            ready.add(item["metadata"]["name"])
    return ready == {node.name for node in NODES}
