# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The changes that a migration from hostNetwork and device plugins to DRA needs in one pod template."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import (
    WELL_KNOWN,
    Names,
    is_gpu,
    is_rdma,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import (
    ContainerShape,
    Finding,
    PodShape,
    Seen,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import annotations as wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Container, Pod

_DEVICES = "/dev/infiniband"
_OUR_LABELS = "zerocopy.rdma/"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
# Which NIC, which transport, which GID, which interface: what somebody knew of the host's network when they wrote it.
_BY_HAND = {
    "NCCL_IB_HCA": codes.NIC_BY_HAND,
    "NVSHMEM_HCA_LIST": codes.NIC_BY_HAND,
    "NVSHMEM_HCA_PE_MAPPING": codes.NIC_BY_HAND,
    "UCX_NET_DEVICES": codes.NIC_BY_HAND,
    "--disaggregation-ib-device": codes.NIC_BY_HAND,
    "UCX_TLS": codes.TRANSPORT_BY_HAND,
    "NCCL_IB_GID_INDEX": codes.GID_BY_HAND,
    "NVSHMEM_IB_GID_INDEX": codes.GID_BY_HAND,
    "UCX_IB_GID_INDEX": codes.GID_BY_HAND,
    "GLOO_SOCKET_IFNAME": codes.INTERFACE_BY_HAND,
    "NCCL_SOCKET_IFNAME": codes.INTERFACE_BY_HAND,
    "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": codes.INTERFACE_BY_HAND,
}
# With a NIC of its own, these are what a pod has.
_NEUTRAL = {
    codes.NIC_BY_HAND: ("", "all", "eth0"),
    codes.GID_BY_HAND: ("", "-1", "auto"),
    codes.INTERFACE_BY_HAND: ("", "eth0"),
}
# Of UCX: rc, rc_mlx5, dc_x, ud_verbs, ib.
_RDMA_TRANSPORT = re.compile(r"(?:^|,)\\?(?:rc|dc|ud|ib)(?:_\w+)?(?:,|\Z)")
_INJECTOR = ("devices.noderesource.dev", "devices.nri.io")
HOST_ADDRESSES = ("status.hostIP", "status.hostIPs")


def has_devices(pod: PodShape, container: ContainerShape) -> bool:
    """Whether it mounts the device nodes of HCAs, or all device nodes."""
    return any(_is_devices(path) for name, path in pod.host_paths.items() if name in container.mounts)


def _is_devices(path: str) -> bool:
    plain = "/" + path.strip("/")
    return plain == "/dev" or plain == _DEVICES or plain.startswith(f"{_DEVICES}/")


def asked(container: ContainerShape, more: Names) -> List[str]:
    return sorted(name for name in container.resources if is_rdma(name, more))


def asks(seen: Seen, more: Names) -> bool:
    """Whether an object requests RDMA: programs that hand it out, or look after a node, do not."""
    return any(asked(container, more) for pod in seen.pods for container in pod.containers)


def injections(pod: PodShape) -> Dict[str, str]:
    """The annotations by which an NRI plugin gives it devices of RDMA: ours, and the device injector of NRI."""
    return {
        key: value
        for key, value in pod.annotations.items()
        if is_ours(key) or (key.startswith(_INJECTOR) and _DEVICES in value)
    }


def is_ours(annotation: str) -> bool:
    """Whether the strategy inject goes by it."""
    return annotation == wish.ANNOTATION or annotation.startswith(f"{wish.ANNOTATION}.")


def injected(pod: PodShape, container: ContainerShape, more: Names) -> bool:
    """Whether a container gets devices of RDMA by an annotation of its pod."""
    if not injections(pod):
        return False
    shown = Pod("", "", dict(pod.annotations))
    try:
        found = wish.of_container(shown, Container(container.name), "annotated", (), has_gpu(container, more))
    except RecursionError:
        return False
    return found is not None and (has_gpu(container, more) or not found.nearest)


def _by_hand(container: ContainerShape) -> bool:
    """Whether its environment names HCAs, or a transport over them. That of an interface is no sign of RDMA."""
    for name, value in container.environment.items():
        code = _BY_HAND.get(name)
        if code in (codes.NIC_BY_HAND, codes.GID_BY_HAND) and value not in _NEUTRAL[code]:
            return True
        if code == codes.TRANSPORT_BY_HAND and _RDMA_TRANSPORT.search(value):
            return True
    return False


def has_gpu(container: ContainerShape, more: Names) -> bool:
    return any(is_gpu(name, more) for name in container.resources)


def _rdma_containers(pod: PodShape, more: Names) -> List[ContainerShape]:
    """The containers that use RDMA by any sign. A whole /dev without another sign belongs to an agent of the node."""
    return [
        container
        for container in pod.containers
        if asked(container, more)
        or injected(pod, container, more)
        or _by_hand(container)
        or (has_gpu(container, more) and pod.host_network)
        or any(_is_devices(path) and _DEVICES in path for path in _mounted(pod, container))
    ]


def _mounted(pod: PodShape, container: ContainerShape) -> List[str]:
    return [path for name, path in pod.host_paths.items() if name in container.mounts]


def uses_rdma(pod: PodShape, more: Names = WELL_KNOWN) -> bool:
    """Whether anything in it says RDMA, or it has hostNetwork with GPUs or claims."""
    return bool(_rdma_containers(pod, more)) or (pod.host_network and pod.claims)


def of_pod(pod: PodShape, more: Names = WELL_KNOWN) -> Iterator[Finding]:
    """What is to be dealt with in a pod template that uses RDMA; ``more`` are names of the site."""
    places = (pod.place,)
    using = _rdma_containers(pod, more) or [container for container in pod.containers if not container.init]
    if pod.host_network:
        ports = tuple(sorted({port for container in pod.containers for port in container.ports}))
        yield Finding(codes.HOST_NETWORK, {"ports": ports}, places)
        if pod.dns_policy == "ClusterFirstWithHostNet":
            yield Finding(codes.DNS_POLICY, {"policy": pod.dns_policy}, places)
    if pod.scheduler == "volcano":
        yield Finding(codes.VOLCANO_TEMPLATES, {}, places)
    if pod.annotations.get(NETWORKS) and any(asked(container, more) for container in using):
        yield Finding(codes.NETWORKS, {"networks": pod.annotations[NETWORKS]}, places)
    for label in sorted(pod.node_labels):
        # The label of the group is what nodes have with claims.
        if label.startswith(_OUR_LABELS) and label != GROUP_LABEL:
            yield Finding(codes.NODE_LABEL, {"label": label}, places)
    for name, value in sorted(injections(pod).items()):
        yield Finding(codes.INJECTED, {"annotation": name, "value": value}, places)
    for container in using:
        for finding in _of_container(pod, container, more):
            yield Finding(finding.code, finding.fields, places, (container.name,))


def _of_container(pod: PodShape, container: ContainerShape, more: Names) -> Iterator[Finding]:
    for name in asked(container, more):
        yield Finding(codes.RESOURCE, {"resource": name, "number": container.resources[name]})
    if container.privileged:
        yield Finding(codes.PRIVILEGED)
    for path in sorted(_mounted(pod, container)):
        if _is_devices(path):
            yield Finding(codes.HOST_PATH, {"path": path})
    # A launcher that only sets variables for others registers no memory.
    registers = bool(asked(container, more)) or has_gpu(container, more) or has_devices(pod, container)
    if registers and not container.init and not container.privileged and not may_lock(container):
        yield Finding(codes.NO_IPC_LOCK)
    for name, value in sorted(container.environment.items()):
        code = _BY_HAND.get(name)
        if code and value not in _NEUTRAL.get(code, ("",)):
            yield Finding(code, {"variable": name, "value": value})
    if pod.host_network:
        for name, path in sorted(container.from_fields.items()):
            if path in HOST_ADDRESSES:
                yield Finding(codes.HOST_ADDRESS, {"variable": name, "field": path})


def may_lock(container: ContainerShape) -> bool:
    return bool(container.capabilities & {"IPC_LOCK", "CAP_IPC_LOCK", "ALL"})


def merged(findings: Sequence[Finding]) -> List[Finding]:
    """One finding for each code with the same fields, with all its places and containers."""
    found: List[Tuple[Finding, List[str], List[str]]] = []
    for finding in findings:
        for known, places, containers in found:
            if (known.code, known.fields) == (finding.code, finding.fields):
                places += [place for place in finding.places if place not in places]
                containers += [name for name in finding.containers if name not in containers]
                break
        else:
            found.append((finding, list(finding.places), list(finding.containers)))
    return [Finding(known.code, known.fields, tuple(places), tuple(containers)) for known, places, containers in found]
