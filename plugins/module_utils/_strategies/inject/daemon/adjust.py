# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which devices and variables a container gets, or why it must not be created. Variables that it has already stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import annotations as wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import gpus
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.annotations import NicWish
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.gpus import Held
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import Hardware, HcaPlace
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import (
    Adjustment,
    Container,
    Node,
    Pod,
)


def environment(hcas: Sequence[HcaPlace], given: Mapping[str, str]) -> Dict[str, str]:
    """The variables for a container with these HCAs that it does not have yet (``given``).

    A RoCE port without a RoCE v2 GID is left out. A GID index is only set where it is right for all ports: InfiniBand
    has its GID at another one.
    """
    ports = [(hca, port) for hca in hcas for port in hca.ports if not port.ethernet or port.gid_index is not None]
    if not ports:
        return {}
    names = ",".join(f"{hca.name}:{port.number}" for hca, port in ports)
    wanted = {"NCCL_IB_HCA": f"={names}", "UCX_NET_DEVICES": names, "NVSHMEM_HCA_LIST": names}
    indexes = {port.gid_index for _hca, port in ports}
    if len(indexes) == 1 and None not in indexes:
        wanted.update(dict.fromkeys(("NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX"), str(*indexes)))
    return {name: value for name, value in wanted.items() if not given.get(name)}


_ROCE = "its NIC is RoCE, whose addresses are in the node's network namespace: the pod needs hostNetwork: true"
_BY_NAME = f"name its HCAs in the annotation {wish.ANNOTATION} instead"


class NothingFoundError(Exception):
    """What a container asks for is not there; the text says why, for whoever reads the events of its pod."""


@dataclass(frozen=True)
class Given:
    """What a container gets, and the names of its HCAs."""

    adjustment: Adjustment
    hcas: Sequence[str]


def asked(pod: Pod, container: Container, config: Configuration) -> Optional[NicWish]:
    """What a container asks for, ``None`` for nothing; reads nothing of the node."""
    return wish.of_container(pod, container, config.policy, config.namespaces, gpus.named(container))


def beside_nothing(want: NicWish, container: Container) -> bool:
    """Whether the pod requests the NICs nearest to its containers' GPUs, and this container, a sidecar, has no GPU."""
    return want.nearest and want.everyone and not gpus.named(container)


def given(want: NicWish, pod: Pod, container: Container, config: Configuration, found: Hardware) -> Given:
    """What it gets for that. Raises NothingFoundError."""
    if want.wrong:
        raise NothingFoundError(want.wrong)
    held = gpus.held(container, found.gpus)
    hcas = _nearest(held, found) if want.nearest else _named(want, config, found)
    ethernet = [hca.name for hca in hcas if any(port.ethernet for port in hca.ports)]
    if ethernet and not pod.host_network:
        raise NothingFoundError(f"{', '.join(ethernet)}: {_ROCE}")
    devices = _devices(want, hcas, config, found)
    variables = environment(hcas, container.environment) if config.environment else {}
    # What the container has already would be a conflict.
    new = [node for node in devices if node.path not in container.devices]
    # Without an HCA, as with the device of the connection manager alone, there is no memory to register.
    return Given(Adjustment(new, variables, config.memlock if hcas else 0), [hca.name for hca in hcas])


def _nearest(held: Held, found: Hardware) -> List[HcaPlace]:
    # Which GPU a MIG device is of makes no difference where all have the same NICs.
    alike = len({tuple(gpu.nearest) for gpu in found.gpus}) == 1
    if held.unknown and not alike:
        raise NothingFoundError(f"{held.named_unknown} of the container cannot be identified; {_BY_NAME}")
    if not held.some:
        raise NothingFoundError(f"the container has no GPU that a NIC could be near; {_BY_NAME}")
    names = list(dict.fromkeys(name for gpu in held.gpus or found.gpus for name in gpu.nearest))
    hcas = [found.hcas[name] for name in names if name in found.hcas and found.hcas[name].ports]
    if not hcas:
        raise NothingFoundError("no HCA near the GPUs of the container has a port that is up and not excluded")
    return hcas


def _named(want: NicWish, config: Configuration, found: Hardware) -> List[HcaPlace]:
    """HCAs by their names, or by their devices. A port that is down is never given."""
    by_path = {node.path: hca for hca in found.hcas.values() for node in (hca.verbs, *hca.management) if node}
    lost = [name for name in want.hcas if name not in found.hcas]
    lost += [path for path in want.paths if not found.node(path)]
    if lost:
        raise NothingFoundError(f"{', '.join(lost)}: not on this node, or excluded from workloads")
    managing = [node.path for hca in found.hcas.values() for node in hca.management if node.path in want.paths]
    if managing and not config.umad:
        raise NothingFoundError(f"{', '.join(managing)} can manage the fabric, and rdma_inject_umad is false")
    wanted = [found.hcas[name] for name in want.hcas] + [by_path[path] for path in want.paths if path in by_path]
    hcas = list({hca.name: hca for hca in wanted}.values())
    down = [hca.name for hca in hcas if not hca.ports]
    if down:
        raise NothingFoundError(f"{', '.join(down)}: no port that is up and that workloads may use")
    return hcas


def _devices(want: NicWish, hcas: Sequence[HcaPlace], config: Configuration, found: Hardware) -> List[Node]:
    if want.paths:
        nodes = [found.node(path) for path in want.paths]
        return [node for node in nodes if node]
    missing = [hca.name for hca in hcas if not hca.verbs]
    if missing:
        raise NothingFoundError(f"{', '.join(missing)}: no uverbs device; is the module ib_uverbs loaded?")
    devices = [hca.verbs for hca in hcas if hca.verbs]
    devices += [node for hca in hcas for node in hca.management if config.umad]
    return devices + ([found.manager] if found.manager else [])
