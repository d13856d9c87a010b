# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which devices and variables a container gets, or why it must not be created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inject import environment, gpus, wish
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.gpus import Held
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.hardware import Hardware, HcaPlace
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.messages import Adjustment, Container, Node, Pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.wish import Wish

_ROCE = "its NIC is RoCE, whose addresses are in the node's network namespace: the pod needs hostNetwork: true"


@dataclass(frozen=True)
class Outcome:
    """``adjustment`` is for the container; ``refused`` is why it cannot have what it asks for, empty if it can."""

    wish: Optional[Wish] = None
    adjustment: Adjustment = Adjustment()
    hcas: Sequence[str] = ()
    refused: str = ""


class NothingFoundError(Exception):
    """What a container asks for is not there."""


def outcome(pod: Pod, container: Container, config: Configuration, hardware: Callable[[], Hardware]) -> Outcome:
    """What becomes of a container. ``hardware`` is only asked for one that asks for devices."""
    asked = wish.of_container(pod, container, config.policy, config.namespaces, gpus.named(container))
    if asked is None:
        return Outcome()
    if asked.wrong:
        return Outcome(asked, refused=f"{asked.said}: {asked.wrong}")
    try:
        return _given(asked, pod, container, config, hardware())
    except NothingFoundError as error:
        return Outcome(asked, refused=f"{asked.said}: {error}")


def _given(asked: Wish, pod: Pod, container: Container, config: Configuration, found: Hardware) -> Outcome:
    held = gpus.held(container, found.gpus)
    hcas = _nearest(held, found) if asked.nearest else _named(asked, found)
    ethernet = [hca.name for hca in hcas if any(port.ethernet for port in hca.ports)]
    if ethernet and not pod.host_network:
        raise NothingFoundError(f"{', '.join(ethernet)}: {_ROCE}")
    devices = _devices(asked, hcas, config, found)
    variables = environment.variables(hcas, held.gpus, container.environment) if config.environment else {}
    # What the container has already would be a conflict.
    new = [node for node in devices if node.path not in container.devices]
    return Outcome(asked, Adjustment(new, variables, config.memlock), [hca.name for hca in hcas])


def _nearest(held: Held, found: Hardware) -> List[HcaPlace]:
    if held.unknown:
        raise NothingFoundError(f"which GPU {', '.join(held.unknown)} is cannot be told")
    if not held.gpus:
        raise NothingFoundError("the container has no GPU, so no NIC is the nearest; name HCAs instead")
    names = list(dict.fromkeys(name for gpu in held.gpus for name in gpu.nearest))
    hcas = [found.hcas[name] for name in names if name in found.hcas and found.hcas[name].ports]
    if not hcas:
        raise NothingFoundError("no HCA with a port that is up is left for its GPUs")
    return hcas


def _named(asked: Wish, found: Hardware) -> List[HcaPlace]:
    """HCAs by their names, or by their devices. A port that is down is never given."""
    by_path = {node.path: hca for hca in found.hcas.values() for node in (hca.verbs, *hca.management) if node}
    lost = [name for name in asked.hcas if name not in found.hcas]
    lost += [path for path in asked.paths if not found.node(path)]
    if lost:
        raise NothingFoundError(f"{', '.join(lost)}: no such HCA on this node, or not for workloads")
    wanted = [found.hcas[name] for name in asked.hcas] + [by_path[path] for path in asked.paths if path in by_path]
    hcas = list({hca.name: hca for hca in wanted}.values())
    down = [hca.name for hca in hcas if not hca.ports]
    if down:
        raise NothingFoundError(f"{', '.join(down)}: no port is up that workloads may use")
    return hcas


def _devices(asked: Wish, hcas: Sequence[HcaPlace], config: Configuration, found: Hardware) -> List[Node]:
    if asked.paths:
        nodes = [found.node(path) for path in asked.paths]
        return [node for node in nodes if node]
    missing = [hca.name for hca in hcas if not hca.verbs]
    if missing:
        raise NothingFoundError(f"{', '.join(missing)}: no uverbs device; is the module ib_uverbs loaded?")
    devices = [hca.verbs for hca in hcas if hca.verbs]
    devices += [node for hca in hcas for node in hca.management if config.umad]
    return devices + ([found.manager] if found.manager else [])
