# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The requests and constraints of a claim: how its GPUs and NICs are divided so that they end up together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import Template
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice


@dataclass(frozen=True)
class Ask:
    """One request of a claim. ``count`` is ``None`` for all; ``expressions`` come on top of the template's."""

    name: str
    is_gpu: bool
    count: Optional[int]
    expressions: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Together:
    """Requests whose devices have the same value of an attribute (``matchAttribute``)."""

    requests: Tuple[str, ...]
    attribute: str


@dataclass(frozen=True)
class ClaimLayout:
    """One claim. ``suffix`` tells the variants of a template apart."""

    requests: Tuple[Ask, ...]
    together: Tuple[Together, ...] = ()
    suffix: str = ""


def _nics(
    template: Template, count: Optional[int], suffix: str = "", part: int = 0, expressions: Tuple[str, ...] = ()
) -> Tuple[Ask, ...]:
    """The NICs of one of the equal parts of a claim; each rail is a request of its own, so that none can be missing."""
    if not template.rails:
        return (Ask(f"nic{suffix}", False, count, expressions),)
    rails = template.rails[part * (count or 0) : (part + 1) * (count or 0)]
    return tuple(Ask(f"nic-rail{rail}", False, 1, (selectors.nic_rail(rail), *expressions)) for rail in rails)


def plain(template: Template) -> ClaimLayout:
    """Counts only, and rails."""
    requests: List[Ask] = []
    if template.gpus:
        requests.append(Ask("gpu", True, template.gpus))
    if template.nics != 0:
        requests += _nics(template, template.nics)
    return ClaimLayout(tuple(requests))


def _groups(template: Template) -> int:
    return math.gcd(template.gpus, template.nics or 0)


def grouped(template: Template, attribute: str, groups: Optional[int] = None) -> ClaimLayout:
    """The smallest groups of GPUs and NICs that the numbers allow, each with one value of the attribute.

    Small groups find room where large ones do not: four pairs fit on two root complexes with two NICs each.
    ``groups`` makes it only so many of them.
    """
    number = _groups(template)
    requests: List[Ask] = []
    together: List[Together] = []
    for place in range(number if groups is None else groups):
        suffix = "" if number == 1 else f"-{place}"
        own = Ask(f"gpu{suffix}", True, template.gpus // number)
        nics = _nics(template, (template.nics or 0) // number, suffix, place)
        requests += [own, *nics]
        together.append(Together((own.name, *(nic.name for nic in nics)), attribute))
    return ClaimLayout(tuple(requests), tuple(together))


def whole(template: Template, attribute: str) -> ClaimLayout:
    """All GPUs and NICs with one value of the attribute."""
    requests = plain(template).requests
    return ClaimLayout(requests, (Together(tuple(ask.name for ask in requests), attribute),))


class NumaError(Exception):
    """GPUs and NICs cannot be selected by NUMA node; the text says why."""


def _numbers(nodes: Sequence[ClaimNode]) -> List[int]:
    return sorted({node.numa[device.pci] for node in nodes for device in node.gpus if device.pci in node.numa})


def _all_have(gpus: Sequence[SliceDevice], attributes: Sequence[str]) -> Optional[str]:
    """The first of these attributes that every GPU has."""
    return next((name for name in attributes if all(name in gpu.attributes for gpu in gpus)), None)


def _gpu_expressions(nodes: Sequence[ClaimNode]) -> Dict[int, str]:
    """What selects the GPUs of each NUMA node, on all of these nodes. Raises NumaError."""
    gpus = [(node, device) for node in nodes for device in node.gpus]
    every = [device for _node, device in gpus]
    numa = _all_have(every, (model.NUMA_NODE, model.AMD_NUMA_NODE))
    if numa is not None:
        return {number: selectors.having(numa, [number]) for number in _numbers(nodes)}
    places: Dict[int, Set[str]] = {}
    # A GPU at the same PCI address of a node with facts decides: the plan must not change with a node without facts.
    known = {device.pci for node, device in gpus if device.pci in node.numa}
    for node, device in gpus:
        number = node.numa.get(device.pci or "")
        if number is None and device.pci in known:
            continue
        if number is None:
            raise NumaError("the GPU driver publishes no NUMA node, and the facts do not have it")
        places.setdefault(number, set()).add(str(device.pci))
    seen: Dict[str, int] = {}
    for number, addresses in places.items():
        for address in addresses:
            if seen.setdefault(address, number) != number:
                raise NumaError(
                    f"the GPU at {address} is on NUMA node {seen[address]} of one node and {number} of another"
                )
    attribute = _all_have(every, (model.PCI_BUS_ID, model.PCIE_BUS_ID, model.AMD_PCI_ADDRESS))
    if attribute is None:
        raise NumaError("the drivers of these nodes identify GPUs in different ways")
    return {number: selectors.having(attribute, sorted(places[number])) for number in sorted(places)}


def _nic_numbers(nodes: Sequence[ClaimNode]) -> List[int]:
    numbers = {device.attributes.get(model.NIC_NUMA_NODE) for node in nodes for device in node.nics}
    return sorted(number for number in numbers if isinstance(number, int))


def _ask_of(template: Template, gpu: str, nic: int, parts: int = 1, suffix: str = "", part: int = 0) -> Tuple[Ask, ...]:
    numa = selectors.nic_numa(nic)
    return (
        Ask(f"gpu{suffix}", True, template.gpus // parts, (gpu,)),
        *_nics(template, (template.nics or 0) // parts, suffix, part, (numa,)),
    )


def by_numa(template: Template, nodes: Sequence[ClaimNode]) -> List[ClaimLayout]:
    """One layout per NUMA node, all of whose GPUs and NICs are of it. Raises NumaError."""
    gpus = _gpu_expressions(nodes)
    both = [number for number in _nic_numbers(nodes) if number in gpus]
    if not both:
        raise NumaError("no NUMA node has both GPUs and NICs")
    return [ClaimLayout(_ask_of(template, gpus[number], number), suffix=f"-numa{number}") for number in both]


def across_numa(template: Template, nodes: Sequence[ClaimNode]) -> Optional[ClaimLayout]:
    """One layout with the same share of GPUs and NICs on every NUMA node, if the numbers can be divided so."""
    gpus = _gpu_expressions(nodes)
    both = [number for number in _nic_numbers(nodes) if number in gpus]
    parts = len(both)
    if parts < 2 or template.gpus % parts or (template.nics or 0) % parts:
        return None
    requests = [
        ask
        for part, number in enumerate(both)
        for ask in _ask_of(template, gpus[number], number, parts, f"-numa{number}", part)
    ]
    return ClaimLayout(tuple(requests))


def apart(template: Template, nodes: Sequence[ClaimNode]) -> List[ClaimLayout]:
    """One layout per NUMA node with its GPUs and the NICs of the next one that has some. Raises NumaError."""
    gpus, nics = _gpu_expressions(nodes), _nic_numbers(nodes)
    found = []
    for number in gpus:
        others = [nic for nic in nics if nic > number] + [nic for nic in nics if nic < number]
        if others:
            found.append(ClaimLayout(_ask_of(template, gpus[number], others[0]), suffix=f"-numa{number}"))
    if not found:
        raise NumaError("there is no NIC on another NUMA node than the GPUs'")
    return found
