# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Ports that were moved so that pods with hostNetwork fit on one node, and the pools that had to follow them."""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import Names, is_gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate import codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import (
    ContainerShape,
    Finding,
    ObjectRef,
    PodShape,
    Pool,
)

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


def main_containers(pod: PodShape, more: Names) -> List[ContainerShape]:
    """The container with GPUs, or else the first."""
    lasting = [container for container in pod.containers if not container.init]
    with_gpus = [container for container in lasting if any(is_gpu(name, more) for name in container.resources)]
    return (with_gpus or lasting)[:1]


def remapped(pods: Sequence[Tuple[ObjectRef, PodShape]], more: Names) -> Found:
    """Templates with hostNetwork in one namespace that serve the same image on different ports."""
    twins: Dict[Tuple[str, str], List[Twin]] = {}
    for ref, pod in pods:
        for container in main_containers(pod, more):
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
                yield twin.ref, Finding(codes.PORTS_REMAPPED, {"ports": ports, "others": others}, (twin.pod.place,))


def of_pools(pods: Sequence[Tuple[ObjectRef, PodShape]], pools: Sequence[Pool]) -> Found:
    """Templates with hostNetwork whose pods are in a pool with several ports."""
    by_namespace: Dict[str, List[Pool]] = {}
    for pool in pools:
        if len(pool.ports) > 1 and pool.selector:
            by_namespace.setdefault(pool.ref.namespace, []).append(pool)
    for ref, pod in pods:
        for pool in by_namespace.get(ref.namespace, []) if pod.host_network else ():
            if pool.selector.items() <= pod.labels.items():
                yield ref, Finding(codes.POOL_PORTS, {"pool": pool.ref.name, "ports": pool.ports}, (pod.place,))
