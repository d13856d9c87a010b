# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How a pod template uses RDMA, and what in it has to change from hostNetwork and device plugins to DRA.

Also ports that were moved so that pods with hostNetwork fit on one node, and the pools that had to follow them.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import node_labels
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import (
    WELL_KNOWN,
    Names,
    is_gpu,
    is_rdma,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import catalogue
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.catalogue import Finding
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.pods import (
    ContainerShape,
    PodShape,
    Pool,
    WorkloadObject,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver.objects import GROUP_LABEL
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import annotations as wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Container, Pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_rdma_device

_DEVICES = "/dev/infiniband"
NETWORKS = "k8s.v1.cni.cncf.io/networks"
# Which NIC, which transport, which GID, which interface: what somebody knew of the host's network when they wrote it.
_BY_HAND = {
    "NCCL_IB_HCA": catalogue.NIC_BY_HAND,
    "NVSHMEM_HCA_LIST": catalogue.NIC_BY_HAND,
    "NVSHMEM_HCA_PE_MAPPING": catalogue.NIC_BY_HAND,
    "NVSHMEM_HCA_PREFIX": catalogue.NIC_BY_HAND,
    "MOONCAKE_DEVICE": catalogue.NIC_BY_HAND,
    "UCX_NET_DEVICES": catalogue.NIC_BY_HAND,
    "--disaggregation-ib-device": catalogue.NIC_BY_HAND,
    "--mooncake-ib-device": catalogue.NIC_BY_HAND,
    "UCX_TLS": catalogue.TRANSPORT_BY_HAND,
    "MC_GID_INDEX": catalogue.GID_BY_HAND,
    "NCCL_IB_GID_INDEX": catalogue.GID_BY_HAND,
    "NVSHMEM_IB_GID_INDEX": catalogue.GID_BY_HAND,
    "UCX_IB_GID_INDEX": catalogue.GID_BY_HAND,
    "GLOO_SOCKET_IFNAME": catalogue.INTERFACE_BY_HAND,
    "NCCL_SOCKET_IFNAME": catalogue.INTERFACE_BY_HAND,
    "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": catalogue.INTERFACE_BY_HAND,
    "TP_SOCKET_IFNAME": catalogue.INTERFACE_BY_HAND,
}
# With a NIC of its own, these are what a pod has.
_NEUTRAL = {
    catalogue.NIC_BY_HAND: ("", "all"),
    catalogue.GID_BY_HAND: ("", "-1", "auto"),
    catalogue.INTERFACE_BY_HAND: ("", "eth0"),
}
# Of UCX: rc, rc_mlx5, dc_x, ud_verbs, ib.
_RDMA_TRANSPORT = re.compile(r"(?:^|,)\\?(?:rc|dc|ud|ib)(?:_\w+)?(?:,|\Z)")
_ALL_TRANSPORTS = re.compile(r"\A(?:|\^(?!(?:.*,)?ib(?:,|\Z)).*|(?:.*,)?all(?:,.*)?)\Z", re.DOTALL)
# Names of interfaces. UCX's of an HCA has its port.
_INTERFACES = re.compile(r"(?:eth|en[oPpsx]|net|bond|ib|lo)[\w.-]*(?:,(?:eth|en[oPpsx]|net|bond|ib|lo)[\w.-]*)*")
_INJECTOR = ("devices.noderesource.dev", "devices.nri.io")
# Each HCA has one of these; the other device nodes of RDMA are for others of its uses, or for all HCAs.
_VERBS = re.compile(rf"{_DEVICES}/uverbs[0-9]+")
VISIBLE_GPUS = "NVIDIA_VISIBLE_DEVICES"
HOST_ADDRESSES = ("status.hostIP", "status.hostIPs")


def has_devices(pod: PodShape, container: ContainerShape) -> bool:
    """Whether it mounts the device nodes of HCAs, or all device nodes."""
    return any(_is_devices(path) for name, path in pod.host_paths.items() if name in container.mounts)


def _is_devices(path: str) -> bool:
    plain = "/" + path.strip("/")
    return plain == "/dev" or plain == _DEVICES or plain.startswith(f"{_DEVICES}/")


def rdma_resources(container: ContainerShape, site: Names) -> List[str]:
    return sorted(name for name in container.resources if is_rdma(name, site))


def requests_rdma(seen: WorkloadObject, site: Names) -> bool:
    """Whether an object requests RDMA: programs that hand it out, or look after a node, do not."""
    return any(rdma_resources(container, site) for pod in seen.pods for container in pod.containers)


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


def injected(pod: PodShape, container: ContainerShape, site: Names) -> bool:
    """Whether a container gets devices of RDMA by an annotation of its pod."""
    found = _wish(pod, container, site)
    return found is not None and (has_gpu(container, site) or not found.nearest)


def hcas_injected(pod: PodShape, container: ContainerShape, site: Names) -> int:
    """The number of HCAs that an annotation of its pod names for a container, by their names or device nodes."""
    found = _wish(pod, container, site)
    verbs = {path for path in found.paths if _VERBS.fullmatch(path)} if found else set()
    return len({*found.hcas, *verbs}) if found else 0


def hcas_chosen(pod: PodShape, container: ContainerShape) -> int:
    """The number of HCAs that a container with the device nodes of all is told to use by variables."""
    if not has_devices(pod, container):
        return 0
    # NCCL takes names after = as they are, and others as the beginnings of names. Both leave out what is after ^.
    nccl = container.environment.get("NCCL_IB_HCA", "").strip()
    ucx = container.environment.get("UCX_NET_DEVICES", "").strip()
    entries = [
        *([] if nccl.startswith("^") else nccl.lstrip("=").split(",")),
        *([] if ucx.startswith("^") else [entry for entry in ucx.split(",") if not _INTERFACES.fullmatch(entry)]),
    ]
    # Ports of one HCA come after its name.
    names = {entry.partition(":")[0].strip() for entry in entries}
    return len({name for name in names if name != "all" and is_rdma_device(name)})


def sees_gpus(value: str) -> bool:
    """Whether NVIDIA's runtime gives a container GPUs by this value of its variable."""
    return value not in ("", "none", "void")


def _wish(pod: PodShape, container: ContainerShape, site: Names) -> Optional[wish.NicWish]:
    if not injections(pod):
        return None
    shown = Pod("", "", dict(pod.annotations))
    try:
        return wish.of_container(shown, Container(container.name), "annotated", (), has_gpu(container, site))
    except RecursionError:
        return None


def _forces_tcp(name: str, value: str) -> bool:
    """Whether a variable keeps NCCL or UCX from using RDMA."""
    if name == "NCCL_IB_DISABLE":
        # As strtoll reads it.
        return re.match(r"\s*[+-]?0*[1-9]", value, re.ASCII) is not None
    if name == "NCCL_NET":
        return value.lower() == "socket"
    if name == "UCX_TLS":
        return not (_RDMA_TRANSPORT.search(value) or _ALL_TRANSPORTS.match(value))
    return name == "UCX_NET_DEVICES" and _INTERFACES.fullmatch(value) is not None


def by_hand(environment: Mapping[str, str]) -> bool:
    """Whether variables name HCAs, or a transport over them. That of an interface is no sign of RDMA."""
    for name, value in environment.items():
        if _forces_tcp(name, value):
            continue
        code = _BY_HAND.get(name)
        if code in (catalogue.NIC_BY_HAND, catalogue.GID_BY_HAND) and value not in _NEUTRAL[code]:
            return True
        if code == catalogue.TRANSPORT_BY_HAND and _RDMA_TRANSPORT.search(value):
            return True
    return False


def has_gpu(container: ContainerShape, site: Names) -> bool:
    return any(is_gpu(name, site) for name in container.resources)


def _rdma_containers(pod: PodShape, site: Names) -> List[ContainerShape]:
    """The containers that use RDMA by any sign. A whole /dev without another sign belongs to an agent of the node."""
    return [
        container
        for container in pod.containers
        if rdma_resources(container, site)
        or injected(pod, container, site)
        or by_hand(container.environment)
        or (has_gpu(container, site) and pod.host_network)
        or any(_is_devices(path) and _DEVICES in path for path in _mounted(pod, container))
    ]


def _mounted(pod: PodShape, container: ContainerShape) -> List[str]:
    return [path for name, path in pod.host_paths.items() if name in container.mounts]


def uses_rdma(pod: PodShape, site: Names = WELL_KNOWN) -> bool:
    """Whether anything in it says RDMA, or it has hostNetwork with GPUs or claims."""
    return bool(_rdma_containers(pod, site)) or (pod.host_network and pod.claims)


def of_pod(pod: PodShape, site: Names = WELL_KNOWN) -> Iterator[Finding]:
    """What is to be dealt with in a pod template that uses RDMA; ``more`` are names of the site."""
    places = (pod.place,)
    using = _rdma_containers(pod, site) or [container for container in pod.containers if not container.init]
    if pod.host_network:
        ports = tuple(sorted({port for container in pod.containers for port in container.ports}))
        yield Finding(catalogue.HOST_NETWORK, {"ports": ports}, places)
        if pod.dns_policy == "ClusterFirstWithHostNet":
            yield Finding(catalogue.DNS_POLICY, {"policy": pod.dns_policy}, places)
    if pod.scheduler == "volcano":
        yield Finding(catalogue.VOLCANO_TEMPLATES, {}, places)
    if pod.annotations.get(NETWORKS) and any(rdma_resources(container, site) for container in using):
        yield Finding(catalogue.NETWORKS, {"networks": pod.annotations[NETWORKS]}, places)
    for label in sorted(pod.node_labels):
        # The label of the group is what nodes have with claims.
        if node_labels.is_ours(label) and label != GROUP_LABEL:
            yield Finding(catalogue.NODE_LABEL, {"label": label}, places)
    for name, value in sorted(injections(pod).items()):
        yield Finding(catalogue.INJECTED, {"annotation": name, "value": value}, places)
    for container in using:
        for finding in _of_container(pod, container, site):
            yield Finding(finding.code, finding.fields, places, (container.name,))


def _of_container(pod: PodShape, container: ContainerShape, site: Names) -> Iterator[Finding]:
    for name in rdma_resources(container, site):
        yield Finding(catalogue.RESOURCE, {"resource": name, "number": container.resources[name]})
    if container.privileged:
        yield Finding(catalogue.PRIVILEGED)
    for path in sorted(_mounted(pod, container)):
        if _is_devices(path):
            yield Finding(catalogue.HOST_PATH, {"path": path})
    # A launcher that only sets variables for others registers no memory.
    registers = bool(rdma_resources(container, site)) or has_gpu(container, site) or has_devices(pod, container)
    if registers and not container.init and not container.privileged and not may_lock(container):
        yield Finding(catalogue.NO_IPC_LOCK)
    for name, value in sorted(container.environment.items()):
        code = catalogue.TCP_BY_HAND if _forces_tcp(name, value) else _BY_HAND.get(name)
        if code and value not in _NEUTRAL.get(code, ("",)):
            yield Finding(code, {"variable": name, "value": value})
    if pod.host_network:
        for name, path in sorted(container.from_fields.items()):
            if path in HOST_ADDRESSES:
                yield Finding(catalogue.HOST_ADDRESS, {"variable": name, "field": path})


def may_lock(container: ContainerShape) -> bool:
    return bool(container.capabilities & {"IPC_LOCK", "CAP_IPC_LOCK", "ALL"})


def merged(findings: Sequence[Finding]) -> List[Finding]:
    """One finding for each code with the same fields, with all its places and containers."""
    found: Dict[Tuple[str, str], Tuple[Finding, Dict[str, None], Dict[str, None]]] = {}
    for finding in findings:
        key = (finding.code, repr(sorted(finding.fields.items())))
        _first, places, containers = found.setdefault(key, (finding, {}, {}))
        places.update(dict.fromkeys(finding.places))
        containers.update(dict.fromkeys(finding.containers))
    return [
        Finding(first.code, first.fields, tuple(places), tuple(containers))
        for first, places, containers in found.values()
    ]


Found = Iterator[Tuple[ObjectRef, Finding]]


class Twin(NamedTuple):
    """A pod template whose main container runs the same image as another one's."""

    ref: ObjectRef
    pod: PodShape
    ports: Tuple[int, ...]


def repository(image: str) -> str:
    """The image without registry host's tag and digest: ``ghcr.io/llm-d/llm-d-cuda``."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def main_containers(pod: PodShape, site: Names) -> List[ContainerShape]:
    """The container with GPUs, or else the first."""
    lasting = [container for container in pod.containers if not container.init]
    with_gpus = [container for container in lasting if any(is_gpu(name, site) for name in container.resources)]
    return (with_gpus or lasting)[:1]


def remapped(pods: Sequence[Tuple[ObjectRef, PodShape]], site: Names) -> Found:
    """Templates with hostNetwork in one namespace that serve the same image on different ports."""
    twins: Dict[Tuple[str, str], List[Twin]] = {}
    for ref, pod in pods:
        for container in main_containers(pod, site):
            if pod.host_network and container.image and container.ports:
                key = (ref.namespace, repository(container.image))
                twins.setdefault(key, []).append(Twin(ref, pod, container.ports))
    for several in twins.values():
        by_ports: Dict[Tuple[int, ...], List[Twin]] = {}
        for twin in several:
            by_ports.setdefault(twin.ports, []).append(twin)
        for ports, alike in by_ports.items():
            others = tuple(
                f"{server.ref.kind.kind} {server.ref.name} has {', '.join(map(str, server.ports))}"
                for other, group in by_ports.items()
                for server in group[:1]
                if other != ports
            )
            for twin in alike if others else ():
                yield twin.ref, Finding(catalogue.PORTS_REMAPPED, {"ports": ports, "others": others}, (twin.pod.place,))


def of_pools(pods: Sequence[Tuple[ObjectRef, PodShape]], pools: Sequence[Pool]) -> Found:
    """Templates with hostNetwork whose pods are in a pool with several ports."""
    by_namespace: Dict[str, List[Pool]] = {}
    for pool in pools:
        if len(pool.ports) > 1 and pool.selector:
            by_namespace.setdefault(pool.ref.namespace, []).append(pool)
    for ref, pod in pods:
        for pool in by_namespace.get(ref.namespace, []) if pod.host_network else ():
            if pool.selector.items() <= pod.labels.items():
                yield ref, Finding(catalogue.POOL_PORTS, {"pool": pool.ref.name, "ports": pool.ports}, (pod.place,))
