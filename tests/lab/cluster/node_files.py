# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The files that make a guest a node, as an administrator without this collection has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from control_plane import lifecycle
from control_plane.components import SERVICE_PORT
from vmlab.topology import GATEWAY, NODES, Node

from . import node_programs

CREDENTIALS = "etc/kubernetes"
_SERVING = "var/lib/kubelet/pki/kubelet"
_KUBELET_CONFIG = "/var/lib/kubelet/config.json"

# The guest with a containerd that Debian does not have yet.
NEWER_CONTAINERD = ("node2",)


@dataclass(frozen=True)
class File:
    """A file of a node: text, or a copy of one that is here."""

    content: Union[str, Path]
    mode: int = 0o644


def of(node: Node, name: str) -> dict[str, File]:
    """Map the paths of all files, relative to the root, to what they are. ``name`` is that of the control plane."""
    found = {"usr/local/bin/kubelet": File(node_programs.kubelet(), 0o755)}
    found.update(_credentials(node, name))
    found["var/lib/kubelet/config.json"] = File(json.dumps(_kubelet_config(), indent=1))
    found["etc/systemd/system/kubelet.service"] = File(_KUBELET_UNIT.format(address=node.address, routes=_routes(node)))
    found["etc/cni/net.d/10-lab.conflist"] = File(json.dumps(_pod_network(node), indent=1))
    found.update(_newer_containerd() if node.name in NEWER_CONTAINERD else _debian_containerd())
    return found


def _credentials(node: Node, name: str) -> Mapping[str, File]:
    """What the node is for the API server, and the API server for the node."""
    authority = lifecycle.authority(name)
    server = f"https://{GATEWAY}:{SERVICE_PORT}"
    user = f"system:node:{node.name}"
    addresses = [f"IP:{node.address}", f"DNS:{node.name}"]
    client = authority.issue(f"{node.name}-client", user, ["system:nodes"])
    serving = authority.issue(f"{node.name}-serving", user, ["system:nodes"], addresses)
    kubeconfig = authority.kubeconfig(client.key.with_suffix(".kubeconfig"), server, client)
    return {
        f"{CREDENTIALS}/kubelet.conf": File(kubeconfig, 0o600),
        f"{CREDENTIALS}/pki/ca.crt": File(authority.ca.certificate),
        f"{_SERVING}.crt": File(serving.certificate),
        f"{_SERVING}.key": File(serving.key, 0o600),
    }


def _kubelet_config() -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"x509": {"clientCAFile": f"/{CREDENTIALS}/pki/ca.crt"}, "anonymous": {"enabled": False}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"/{_SERVING}.crt",
        "tlsPrivateKeyFile": f"/{_SERVING}.key",
        "cgroupDriver": "systemd",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        # There are no names to look up in here.
        "resolvConf": "",
        # Nobody looks at the figures, and collecting them takes a good part of an emulated CPU.
        "volumeStatsAggPeriod": "-1s",
    }


_KUBELET_FLAGS = f"--kubeconfig=/{CREDENTIALS}/kubelet.conf --config={_KUBELET_CONFIG} --housekeeping-interval=5m"
_KUBELET_UNIT = f"""\
[Unit]
Description=kubelet
Wants=containerd.service
After=containerd.service network.target

[Service]
{{routes}}
ExecStart=/usr/local/bin/kubelet {_KUBELET_FLAGS} --node-ip={{address}}
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
"""


def pod_subnet(node: Node) -> str:
    """Of the pods of a node that are not in its network."""
    return f"10.244.{node.number}.0/24"


def _routes(node: Node) -> str:
    """How the pods of this node reach those of the others, as lines of a unit."""
    others = [other for other in NODES if other.name != node.name]
    return "\n".join(f"ExecStartPre=ip route replace {pod_subnet(one)} via {one.address}" for one in others)


def _pod_network(node: Node) -> dict[str, object]:
    """A bridge per node; pods of one node reach each other and their node."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": pod_subnet(node)}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {"cniVersion": "1.0.0", "name": "lab", "plugins": [bridge]}


def _debian_containerd() -> Mapping[str, File]:
    """Debian's configuration, with the cgroup driver that a kubelet under systemd wants."""
    return {"etc/containerd/config.toml": File(_DEBIAN_CONFIG)}


def _newer_containerd() -> Mapping[str, File]:
    """What containerd's own instructions say: programs in /usr/local, a unit, the default configuration changed."""
    text = node_programs.containerd_default_config()
    for old, new in (("SystemdCgroup = false", "SystemdCgroup = true"), ("/opt/cni/bin", "/usr/lib/cni")):
        assert old in text, f"containerd's default configuration has no {old!r}"
        text = text.replace(old, new)
    found = {f"usr/local/bin/{name}": File(path, 0o755) for name, path in node_programs.containerd().items()}
    found["usr/local/lib/systemd/system/containerd.service"] = File(_CONTAINERD_UNIT)
    found["etc/containerd/config.toml"] = File(text)
    return found


_DEBIAN_CONFIG = """\
version = 2

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = "/usr/lib/cni"
      conf_dir = "/etc/cni/net.d"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = true
  [plugins."io.containerd.internal.v1.opt"]
    path = "/var/lib/containerd/opt"
"""

_CONTAINERD_UNIT = """\
[Unit]
Description=containerd container runtime
After=network.target dbus.service

[Service]
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
"""
