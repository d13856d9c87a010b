# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""GPU-NIC path classes, assignment of HCAs to GPUs, and the node's signature."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import GpuAffinity
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Gpu, Hca, PciFunction

# Nearest first, as the legend of `nvidia-smi topo -m` has them.
PATH_CLASSES = ("PIX", "PXB", "PHB", "NODE", "SYS")


def bridges_between(function: PciFunction, other: PciFunction) -> Tuple[List[str], List[str], bool]:
    """Bridges strictly below the deepest shared bridge on either side, and whether there is a shared bridge."""
    shared = 0
    for left, right in zip(function.pcie_path[:-1], other.pcie_path[:-1]):
        if left != right:
            break
        shared += 1
    return function.pcie_path[shared:-1], other.pcie_path[shared:-1], shared > 0


def path_class(function: PciFunction, other: PciFunction, numa_nodes: int) -> str:
    """Path class between two PCI functions, with the meaning of ``nvidia-smi topo -m``.

    PIX: at most one PCIe switch; PXB: several switches but no host bridge; PHB: the same root complex; NODE: different
    root complexes of one NUMA node; SYS: across NUMA nodes. Two ports below one switch share its upstream port and
    have one downstream port each, so more than one bridge on a side means a further switch. ``numa_nodes`` is the
    node's number of NUMA nodes: with a single one, functions without a NUMA node are on it; else they count as SYS.
    """
    left, right, shared = bridges_between(function, other)
    if shared:
        return "PIX" if len(left) <= 1 and len(right) <= 1 else "PXB"
    if function.pcie_root is not None and function.pcie_root == other.pcie_root:
        return "PHB"
    if numa_nodes == 1 or (function.numa_node is not None and function.numa_node == other.numa_node):
        return "NODE"
    return "SYS"


# How far a GPU and an HCA are apart, nearest first: path class, then what tells ties inside of it apart.
Distance = Tuple[int, int, int]
# A distance of 255 in ACPI's table means that there is no way (ACPI 6.5, section 5.2.17).
_UNREACHABLE = 255


def distance(
    gpu: PciFunction, nic: PciFunction, numa_nodes: int, numa_distances: Mapping[int, Mapping[int, int]]
) -> Distance:
    """How far ``nic`` is from ``gpu``.

    Below cascaded switches a tie goes to the NIC whose shared bridge is nearest to the GPU, then to the one nearest to
    that bridge; across NUMA nodes to the one that firmware puts nearer.
    """
    kind = path_class(gpu, nic, numa_nodes)
    if kind == "PXB":
        up, down, _shared = bridges_between(gpu, nic)
        return PATH_CLASSES.index(kind), len(up), len(down)
    if kind == "SYS" and gpu.numa_node is not None and nic.numa_node is not None:
        return PATH_CLASSES.index(kind), numa_distances.get(gpu.numa_node, {}).get(nic.numa_node, _UNREACHABLE), 0
    return PATH_CLASSES.index(kind), _UNREACHABLE if kind == "SYS" else 0, 0


def _spread(gpus: Sequence[int], hcas: Sequence[str]) -> Dict[int, List[str]]:
    """Deal equally near HCAs to GPUs in contiguous blocks: 4 GPUs and 2 HCAs give two GPUs each."""
    if len(gpus) >= len(hcas):
        return {gpu: [hcas[i * len(hcas) // len(gpus)]] for i, gpu in enumerate(gpus)}
    bounds = [i * len(hcas) // len(gpus) for i in range(len(gpus) + 1)]
    return {gpu: list(hcas[bounds[i] : bounds[i + 1]]) for i, gpu in enumerate(gpus)}


def _least(keys: Mapping[str, Any]) -> Tuple[str, ...]:
    """The names with the least key, in their order."""
    best = min(keys.values(), default=None)
    return tuple(name for name, key in keys.items() if key == best)


def assign(distances: Mapping[int, Mapping[str, Distance]]) -> Dict[int, List[str]]:
    """The HCAs that each GPU should use, from the distance of each GPU to the HCAs that it may use.

    An HCA belongs to the GPUs nearest to it. GPUs with the same HCAs of their own share them evenly, in order on both
    sides. A GPU without (its NIC is down, or its side has none) gets one that nobody uses, else one of a GPU that has
    several, else the nearest; among equals the one with the fewest users.
    """
    owners: Dict[str, Distance] = {}
    for of_gpu in distances.values():
        for name, apart in of_gpu.items():
            owners[name] = min(apart, owners.get(name, apart))
    sharing: Dict[Tuple[str, ...], List[int]] = {}
    for gpu, of_gpu in distances.items():
        own = tuple(name for name in _least(of_gpu) if of_gpu[name] == owners[name])
        sharing.setdefault(own, []).append(gpu)
    left = [gpu for gpu in sharing.pop((), []) if distances[gpu]]
    found = {gpu: names for own, gpus in sharing.items() for gpu, names in _spread(gpus, own).items()}
    while left:
        users = {name: [gpu for gpu in found if name in found[gpu]] for name in owners}
        # 0: nobody's, 1: one of several for all who use it, 2: somebody's only one.
        needed = {name: max((1 + (len(found[gpu]) == 1) for gpu in users[name]), default=0) for name in owners}
        ranks = {gpu: {name: (needed[name], apart) for name, apart in distances[gpu].items()} for gpu in left}
        best = {gpu: (min(of_gpu.values()), _least(of_gpu)) for gpu, of_gpu in ranks.items()}
        choice = min(best.values())
        alike = [gpu for gpu in left if best[gpu] == choice]
        fewest = _least({name: len(users[name]) for name in choice[1]})
        found.update(_spread(alike, fewest[: len(alike)]))
        left = [gpu for gpu in left if gpu not in alike]
    return found


def _rate(hca: Hca, layer: Optional[str]) -> Optional[float]:
    """The rate of its fastest port of a link layer; ``None`` where one is unknown."""
    rates = [port.rate_gbps for port in hca.ports if port.link_layer == layer]
    return max((rate for rate in rates if rate is not None), default=None) if None not in rates else None


def _model(hca: Hca) -> Tuple[str, str]:
    return (hca.pci.vendor_id, hca.pci.device_id) if hca.pci else ("", "")


# What has at most this share of the rate of others is no slow one of them.
_LAN_SHARE = 0.25


def lan(names: Iterable[str], hcas: Sequence[Hca]) -> Set[str]:
    """Of HCAs those that are ports of the LAN, by their rate beside that of the fastest of them.

    The kernel prints a nominal rate for a port without a link: such a port has the rate of others of its model, else at
    most that of its PCIe slot.
    """
    of_model: Dict[Tuple[str, str], float] = {}
    active: Dict[str, float] = {}
    for hca in hcas:
        rates = [port.rate_gbps for port in hca.ports if port.state == "ACTIVE" and port.rate_gbps]
        if rates and not hca.software:
            active[hca.name] = max(rates)
            of_model[_model(hca)] = max(*rates, of_model.get(_model(hca), 0))
    wanted = set(names)
    least = max((active.get(name, 0) for name in wanted), default=0) * _LAN_SHARE
    found = set()
    for hca in hcas:
        slot = hca.pcie_link.max_gbps if hca.pcie_link else None
        rate = of_model.get(_model(hca), slot)
        if hca.name in wanted and rate and rate <= least and {port.link_layer for port in hca.ports} == {"Ethernet"}:
            found.add(hca.name)
    return found


def alike(names: Sequence[str], hcas: Mapping[str, Hca]) -> List[str]:
    """Of HCAs that are equally far those of one kind: of the fastest link layer, and of its rate.

    A slower one of the same model is of the same kind: its link trained below its best. What is left out is a LAN port
    or a storage network beside the rails.
    """
    by_layer: Dict[Optional[str], List[str]] = {}
    for name in names:
        for layer in dict.fromkeys(port.link_layer for port in hcas[name].ports):
            by_layer.setdefault(layer, []).append(name)
    if not by_layer:
        return list(names)

    def rank(layer: Optional[str]) -> Tuple[float, int, bool]:
        rates = [_rate(hcas[name], layer) or 0 for name in by_layer[layer]]
        return max(rates), rates.count(max(rates)), layer == "InfiniBand"

    layer = max(by_layer, key=rank)
    best = rank(layer)[0]
    rates = {name: _rate(hcas[name], layer) for name in by_layer[layer]}
    models = {_model(hcas[name]) for name, rate in rates.items() if rate == best}
    return [name for name, rate in rates.items() if rate in (None, best) or _model(hcas[name]) in models]


def other_kind(facts: Facts) -> Dict[str, Tuple[str, str]]:
    """HCAs for workloads that are no GPU's, and of another kind than those that are: link layer or rate, and the text.

    Such a one is a port of the LAN or of storage. A virtual function shows the rate of nothing.
    """
    hcas = {hca.name: hca for hca in facts.hcas}
    nearest = dict.fromkeys(name for entry in facts.affinity for name in entry.nearest)
    # In RDMA netns mode exclusive, an HCA in a pod is missing.
    near = [hcas[name] for name in nearest if name in hcas]
    layers = {port.link_layer for hca in near for port in hca.ports}
    models = {_model(hca) for hca in near}
    found: Dict[str, Tuple[str, str]] = {}
    every = dict.fromkeys(name for name, _port in facts.available)
    for name, hca in ((name, hcas[name]) for name in every if name in hcas):
        own = {port.link_layer for port in hca.ports}
        if not near or hca in near or hca.sriov.role == "vf":
            continue
        if own.isdisjoint(layers):
            there, here = (" and ".join(sorted(map(str, each))) for each in (layers, own))
            found[name] = "layer", f"it is {here}, the NICs next to GPUs are {there}"
            continue
        rates = [rate for rate in (_rate(other, layer) for other in near for layer in own & layers) if rate]
        rate = max((_rate(hca, layer) or 0 for layer in own & layers), default=0)
        if rates and 0 < rate < min(rates) and _model(hca) not in models:
            found[name] = "rate", f"it runs at {rate:g} Gb/s, the NICs next to GPUs at {min(rates):g}"
    return found


def affinity(
    gpus: Sequence[Gpu],
    hcas: Sequence[Hca],
    assignable: Sequence[str],
    numa_nodes: int,
    numa_distances: Optional[Mapping[int, Mapping[int, int]]] = None,
    down: Sequence[str] = (),
) -> List[GpuAffinity]:
    """Path class of every GPU to every HCA with a place in PCIe, and the HCAs each GPU should use.

    ``numa_distances`` is firmware's table by NUMA node; without it all other nodes are equally far. ``down`` names HCAs
    that only lack a link: a GPU keeps to the link layer of its nearest HCA, up or down, where it can, since a storage
    NIC on Ethernet does not replace an InfiniBand rail. Of equally near ones, those of one kind count (:func:`alike`),
    and however near, no port of the LAN (:func:`lan`).
    """
    by_name = {hca.name: hca for hca in hcas}
    placed = [(hca.name, hca.pci) for hca in hcas if hca.pci]
    placed.sort(key=lambda pair: (pair[1].address, pair[0]))
    layers = {hca.name: {port.link_layer for port in hca.ports} for hca in hcas}
    every = {
        gpu.index: {name: distance(gpu.pci, pci, numa_nodes, numa_distances or {}) for name, pci in placed}
        for gpu in gpus
    }
    kept: Dict[int, List[str]] = {}
    of_lan = lan({*assignable, *down}, hcas)
    minor = set(of_lan)
    for index, apart in every.items():
        own = _least({name: apart[name] for name in apart if name in {*assignable, *down} - of_lan})
        kept[index] = alike(own, by_name)
        minor.update(own)
    minor.difference_update(*kept.values())
    distances: Dict[int, Dict[str, Distance]] = {}
    for index, apart in every.items():
        wanted = set().union(*(layers[name] for name in kept[index]))
        able = {name: apart[name] for name in apart if name in assignable}
        fit = {name: able[name] for name in able if layers[name] & wanted}
        distances[index] = {name: fit[name] for name in fit if name not in minor} or fit or able
    nearest = assign(distances)
    return [
        GpuAffinity(
            gpu=gpu.index,
            address=gpu.pci.address,
            paths={name: path_class(gpu.pci, pci, numa_nodes) for name, pci in placed},
            nearest=nearest.get(gpu.index, []),
        )
        for gpu in gpus
    ]


def signature(gpus: Sequence[Gpu], hcas: Sequence[Hca], numa_nodes: int) -> str:
    """Twelve hexadecimal digits, equal for nodes of equal hardware shape.

    Made of device models, ports, link layers, NUMA nodes and path classes. Left out is what differs between equal
    nodes (bus numbers, GUIDs, MAC addresses, names) or changes in operation (link state, rate, firmware, VFs,
    software devices).
    """
    physical = sorted(
        ((hca.pci, hca) for hca in hcas if hca.pci and not hca.software and hca.sriov.role != "vf"),
        key=lambda pair: pair[0].address,
    )
    shape: Dict[str, List[Any]] = {
        "gpus": [[gpu.pci.vendor_id, gpu.pci.device_id, gpu.pci.numa_node] for gpu in gpus],
        "hcas": [
            [pci.vendor_id, pci.device_id, hca.board_id, pci.numa_node, [port.link_layer for port in hca.ports]]
            for pci, hca in physical
        ],
        "paths": [[path_class(gpu.pci, pci, numa_nodes) for pci, _hca in physical] for gpu in gpus],
    }
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:12]
