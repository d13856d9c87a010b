# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The pods and containers of this node, as the container runtime knows them (CRI, runtime.v1).

The numbers of fields are those of k8s.io/cri-api 0.37, pkg/apis/runtime/v1/api.proto. What network namespace a pod has
and which devices a container got stands in what CRI calls verbose information, JSON of containerd and CRI-O with the
OCI specification in it.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import grpc, unix_file
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import namespaces
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import protobuf
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.protobuf import ProtobufError

# containerd, that of k3s and RKE2, CRI-O.
SOCKETS = ("/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/run/crio/crio.sock")
_SERVICE = "/runtime.v1.RuntimeService/"
_SECONDS = 2.0
_RUNNING = 1
# Documentation/admin-guide/devices.txt. After 32 devices the kernel takes another one.
_UVERBS = 231
# New ones that are asked about in one look, so that a node full of pods does not delay it; the others follow.
_MOST_NEW = 250


class Container(NamedTuple):
    """``devices`` are those of the OCI specification, as ``231:192``."""

    name: str
    sandbox: str
    devices: Tuple[str, ...] = ()
    privileged: bool = False


class Pod(NamedTuple):
    """``netns`` is the path of its network namespace, empty where it is the node's, and ``inode`` that namespace's."""

    name: str
    namespace: str
    netns: str = ""
    inode: int = 0


class Pods(NamedTuple):
    """By the runtime's IDs. ``unknown`` are those about which the runtime could not be asked yet."""

    pods: Mapping[str, Pod]
    containers: Mapping[str, Container]
    unknown: int = 0


class RuntimeSilentError(Exception):
    """The runtime does not answer, or not as CRI says."""


def find(sockets: Tuple[str, ...] = SOCKETS) -> Optional[str]:
    """The first of the sockets on which a runtime listens, ``None`` where there is none."""
    return next((path for path in sockets if unix_file.is_roots(path)), None)


def _listed(path: str, method: str, state: int) -> Iterator[bytes]:
    # Filters of both lists have the state, a message with a number, in their second field.
    wanted = protobuf.bytes_field(1, protobuf.bytes_field(2, protobuf.number_field(1, state)))
    answer = grpc.call(path, _SERVICE + method, wanted, timeout=_SECONDS)
    return protobuf.submessages(answer, 1)


def _information(path: str, method: str, identity: str) -> Mapping[str, Any]:
    request = protobuf.text_field(1, identity) + protobuf.number_field(2, 1)
    answer = grpc.call(path, _SERVICE + method, request, timeout=_SECONDS)
    said = protobuf.mapping(protobuf.submessages(answer, 2))
    try:
        found = json.loads(said.get("info") or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _at(found: Any, *keys: str) -> Any:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def netns_of(information: Mapping[str, Any]) -> str:
    """The path of a sandbox's network namespace, empty where it is the node's, or not said."""
    listed = _at(information, "runtimeSpec", "linux", "namespaces")
    for entry in listed if isinstance(listed, list) else []:
        path = _at(entry, "path")
        if _at(entry, "type") == "network":
            pid = information.get("pid")
            found = path if isinstance(path, str) and path else f"/proc/{pid}/ns/net" if isinstance(pid, int) else ""
            return found if found.startswith("/") and "\0" not in found else ""
    return ""


def devices_of(information: Mapping[str, Any]) -> Tuple[str, ...]:
    """The RDMA devices of a container, whatever they are called in it."""
    listed = _at(information, "runtimeSpec", "linux", "devices")
    found: List[str] = []
    for entry in listed if isinstance(listed, list) else []:
        major, minor, path = _at(entry, "major"), _at(entry, "minor"), _at(entry, "path")
        ours = major == _UVERBS or (isinstance(path, str) and path.startswith("/dev/infiniband/"))
        if ours and isinstance(major, int) and isinstance(minor, int):
            found.append(f"{major}:{minor}")
    return tuple(dict.fromkeys(found))


def _pod(path: str, identity: str, listed: bytes) -> Pod:
    metadata = protobuf.submessage(listed, 2)
    pod = Pod(protobuf.text(metadata, 1), protobuf.text(metadata, 3))
    netns = netns_of(_information(path, "PodSandboxStatus", identity))
    return pod._replace(netns=netns, inode=namespaces.inode(netns)) if netns else pod


def _container(path: str, identity: str, listed: bytes) -> Container:
    information = _information(path, "ContainerStatus", identity)
    privileged = _at(information, "config", "linux", "security_context", "privileged") is True
    name = protobuf.text(protobuf.submessage(listed, 3), 1)
    # CRI-O names it elsewhere.
    privileged = privileged or information.get("privileged") is True
    return Container(name, protobuf.text(listed, 2), devices_of(information), privileged)


def read(path: str, before: Pods) -> Pods:
    """Pods and containers that run now; about those of an earlier answer the runtime is not asked again.

    Raises RuntimeSilentError.
    """
    try:
        sandboxes = {protobuf.text(each, 1): each for each in _listed(path, "ListPodSandbox", 0)}
        containers = {protobuf.text(each, 1): each for each in _listed(path, "ListContainers", _RUNNING)}
        left = [_MOST_NEW]
        pods = _each(path, sandboxes, before.pods, _pod, left)
        found = _each(path, containers, before.containers, _container, left)
    except (OSError, ProtobufError, grpc.RejectedError) as error:
        raise RuntimeSilentError(f"{path}: {error}") from error
    return Pods(pods, found, len(sandboxes) + len(containers) - len(pods) - len(found))


def _each(
    path: str, listed: Mapping[str, bytes], before: Mapping[str, Any], ask: Any, left: List[int]
) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for identity, message in listed.items():
        if identity in before:
            found[identity] = before[identity]
        elif left[0] > 0:
            left[0] -= 1
            # Neither where the runtime rejects the request, nor where the namespace cannot be found: it has ended since
            # it was listed, or the next look tells more.
            with contextlib.suppress(grpc.RejectedError, FileNotFoundError):
                found[identity] = ask(path, identity, message)
    return found
