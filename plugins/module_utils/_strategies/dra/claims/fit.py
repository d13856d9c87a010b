# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which devices of a node a template's requests match, whether a layout can be satisfied there, and both as text."""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import layout as claims_layout
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.layout import Ask, ClaimLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import Template
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import allocate, cel
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted, joined

_PLACES = {model.PCIE_ROOT: "PCIe root complex", model.NUMA_NODE: "NUMA node"}


class FailedSelectorError(Exception):
    """An expression that the scheduler would fail on, and where."""

    def __init__(self, expression: str, node: ClaimNode, device: SliceDevice, text: str) -> None:
        super().__init__(text)
        self.expression, self.node, self.device = expression, node, device


def _some(places: Sequence[str]) -> str:
    return joined(places) or "none published"


class Fit:
    """A template with its expressions; ``gpu`` and ``nic`` have one list for each of their alternatives.

    Expressions in ``unknown`` cannot be evaluated here and count as true, and without ``links`` so do those that fail
    on a NIC without a link. So do those that fail on a GPU of which no driver says anything yet, which ``assumes``
    tells. Tainted devices do not count as matching, unless ``tainted`` says so. All methods that look at a node raise
    FailedSelectorError.
    """

    def __init__(
        self,
        template: Template,
        gpu: Sequence[Sequence[str]],
        nic: Sequence[Sequence[str]],
        unknown: FrozenSet[str] = frozenset(),
        links: bool = True,
        gpu_driver: str = model.GPU_DRIVER,
        tainted: bool = False,
    ) -> None:
        self.template, self.gpu, self.nic, self.unknown, self.links = template, gpu, nic, unknown, links
        self.gpu_driver, self.tainted = gpu_driver, tainted
        self._known: Dict[Tuple[str, bool, int, Tuple[str, ...]], FrozenSet[int]] = {}
        self._true: Dict[Tuple[str, str, bool], bool] = {}
        self.assumed: Set[str] = set()

    def _tainted(self, nic: Sequence[Sequence[str]], links: bool) -> Fit:
        found = Fit(self.template, self.gpu, nic, self.unknown, links, self.gpu_driver, tainted=True)
        found.assumed = self.assumed
        return found

    def whatever_the_links(self) -> Fit:
        """The same, but without the expression that excludes NICs without a link, and with tainted devices."""
        nic = [[expression for expression in expressions if expression != selectors.LINKED] for expressions in self.nic]
        return self._tainted(nic, links=False)

    def whatever_the_taints(self) -> Fit:
        """The same, but with tainted devices."""
        return self._tainted(self.nic, self.links)

    def assumes(self, node: ClaimNode) -> bool:
        """Whether a GPU of the node was taken to match, as far as anybody has asked, since nothing is known of it."""
        return any(node.device_keys[place] in self.assumed for place in node.unnamed)

    def _is_true(self, expression: str, node: ClaimNode, place: int) -> bool:
        unnamed, device = place in node.unnamed, node.devices[place]
        key = (expression, node.device_keys[place], unnamed)
        if key not in self._true:
            try:
                self._true[key] = expression in self.unknown or cel.matches(expression, device)
            except cel.SelectorError as error:
                # What it asks for may come with the link, or with the driver: no scheduler sees the GPU before.
                if not unnamed and (self.links or selectors.looks_linked(device)):
                    raise FailedSelectorError(expression, node, device, str(error)) from error
                self.assumed.update([node.device_keys[place]] if unnamed else ())
                self._true[key] = True
        return self._true[key]

    def _matching(self, node: ClaimNode, is_gpu: bool, number: int, further: Tuple[str, ...]) -> FrozenSet[int]:
        key = (node.key, is_gpu, number, further)
        if key not in self._known:
            of_class = selectors.GPU_CLASSES[self.gpu_driver] if is_gpu else selectors.NIC_CLASS
            # In this order, as the scheduler: what the class rules out never meets the other expressions.
            expressions = (*of_class, *(self.gpu if is_gpu else self.nic)[number], *further)
            self._known[key] = frozenset(
                place
                for place in range(len(node.devices))
                if all(self._is_true(expression, node, place) for expression in expressions)
            )
        return self._known[key]

    def _free(self, node: ClaimNode, places: FrozenSet[int]) -> FrozenSet[int]:
        return places if self.tainted else frozenset(place for place in places if not node.devices[place].is_barred)

    def _whole(self, node: ClaimNode, places: FrozenSet[int]) -> FrozenSet[int]:
        """The same for a request for all devices, which the scheduler refuses if one of them is tainted."""
        return places if self._free(node, places) == places else frozenset()

    def _alternatives(self, node: ClaimNode, ask: Ask) -> Tuple[allocate.Alternative, ...]:
        numbers = range(len(self.gpu if ask.is_gpu else self.nic))
        usable = self._whole if ask.count is None else self._free
        found = [usable(node, self._matching(node, ask.is_gpu, number, ask.expressions)) for number in numbers]
        return tuple(allocate.Alternative(matching, ask.count) for matching in found)

    def nics(self, node: ClaimNode) -> FrozenSet[int]:
        """Places of the NICs that the first of the alternatives matches, tainted ones included."""
        return self._matching(node, False, 0, ())

    def _every(self, node: ClaimNode, is_gpu: bool) -> List[FrozenSet[int]]:
        """By alternative the places of all devices of a kind that it matches, tainted ones included."""
        return [self._matching(node, is_gpu, number, ()) for number in range(len(self.gpu if is_gpu else self.nic))]

    def _places(self, node: ClaimNode, is_gpu: bool) -> FrozenSet[int]:
        """Places of the devices of a kind that any of the alternatives matches."""
        return self._free(node, frozenset().union(*self._every(node, is_gpu)))

    def matching(self, node: ClaimNode) -> FrozenSet[int]:
        """Places of all devices that any of the alternatives matches."""
        return self._places(node, True) | self._places(node, False)

    def matched(self, node: ClaimNode, is_gpu: bool) -> int:
        """How many devices of a kind any of the alternatives matches."""
        return len(self._places(node, is_gpu))

    def fits(self, node: ClaimNode, layout: ClaimLayout) -> bool:
        """Whether the claim can be satisfied on the idle node. Raises TooManyStepsError."""
        requests = [allocate.DeviceRequest(ask.name, self._alternatives(node, ask)) for ask in layout.requests]
        constraints = [
            allocate.DeviceConstraint(frozenset(together.requests), together.attribute) for together in layout.together
        ]
        return allocate.allocate(node.devices, requests, constraints) is not None

    def _parts(self, node: ClaimNode) -> str:
        """What the driver publishes in place of whole GPUs, which are all that templates request."""
        parts = [device for device in node.devices if device.driver == self.gpu_driver and not device.is_gpu]
        types = sorted({str(device.attributes.get(f"{device.driver}/type")) for device in parts})
        return f" beside {counted(len(parts), 'partition')} ({', '.join(types)})" if parts else ""

    def _of_rail(self, node: ClaimNode, rail: int) -> FrozenSet[int]:
        further = (selectors.nic_rail(rail),)
        every = [self._matching(node, False, number, further) for number in range(len(self.nic))]
        return self._free(node, frozenset().union(*every))

    def lacking(self, node: ClaimNode) -> Optional[str]:
        """The devices of which there are too few, regardless of alignment."""
        rails = [rail for rail in self.template.rails if not self._of_rail(node, rail)]
        if rails:
            return f"no matching NIC of rail {joined(list(map(str, rails)))}"
        for is_gpu, kind, asked in ((True, "GPU", self.template.gpus), (False, "NIC", self.template.nics)):
            if asked == 0:
                continue
            every, found = self._every(node, is_gpu), self.matched(node, is_gpu)
            barred = len(frozenset().union(*every)) - found
            if found < (1 if asked is None else asked):
                without = " without a taint" if barred else ""
                parts = self._parts(node) if is_gpu else ""
                number = "all" if asked is None else asked
                return f"{counted(found, f'matching {kind}')}{without}{parts}, {number} requested"
            if asked is None and not any(self._whole(node, places) for places in every):
                return f"{counted(barred, f'matching {kind}')} with a taint, all requested"
        return None

    def _values(self, node: ClaimNode, is_gpu: bool, attribute: str) -> List[str]:
        """What these devices have as an attribute, each value once."""
        found = {node.devices[place].attributes.get(attribute) for place in self._places(node, is_gpu)} - {None}
        return sorted(map(str, found))

    def why_not(self, node: ClaimNode, layout: ClaimLayout) -> str:
        """Why a layout does not fit, in words."""
        lacking = self.lacking(node)
        if lacking is not None:
            return lacking
        if layout == claims_layout.plain(self.template):
            return f"more than {allocate.MOST_RESULTS} devices, which a claim cannot have"
        if not layout.together:
            asked = f"{counted(self.template.gpus, 'GPU')} and {counted(self.template.nics or 0, 'NIC')}"
            return f"no NUMA node has {asked} as requested"
        attribute = layout.together[0].attribute
        place = _PLACES[attribute]
        gpus, nics = (self._values(node, is_gpu, attribute) for is_gpu in (True, False))
        if not set(gpus) & set(nics):
            return f"no GPU shares a {place} with a NIC (GPUs on {_some(gpus)}, NICs on {_some(nics)})"
        template = self.template
        groups = len(claims_layout.grouped(template, attribute).together)
        some = next(
            number
            for number in range(groups - 1, -1, -1)
            if self.fits(node, claims_layout.grouped(template, attribute, number))
        )
        each = f"{counted(template.gpus // groups, 'GPU')} and {counted((template.nics or 0) // groups, 'NIC')}"
        return f"{some} of {groups} groups of {each} find a common {place}"


Hosts = Dict[str, List[str]]


def _nodes(names: Sequence[str]) -> str:
    return f"each of {len(names)} nodes" if len(names) > 1 else fold(names)


def counts(fit: Fit, nodes: Sequence[ClaimNode], hosts: Hosts, is_gpu: bool) -> str:
    """``matches 4 of 8 NICs on each of 6 nodes; 3 of 8 on h100-03``."""
    kind = "GPUs" if is_gpu else "NICs"
    merged: Dict[Tuple[int, int], List[str]] = {}
    for node in nodes:
        key = (fit.matched(node, is_gpu), len(node.gpus if is_gpu else node.nics))
        merged.setdefault(key, []).extend(hosts[node.key])
    ordered = sorted(merged.items(), key=lambda item: (-len(item[1]), item[0]))
    (matched, every), names = ordered[0]
    parts = [f"matches {matched} of {every} {kind} on {_nodes(names)}"]
    parts += [f"{matched} of {every} on {fold(names)}" for (matched, every), names in ordered[1:]]
    return "; ".join(parts)


def misfits(found: Sequence[Tuple[ClaimNode, str]], hosts: Hosts) -> str:
    """Nodes with the reason why a claim cannot be satisfied on them, those with the same reason once."""
    merged: Dict[str, List[str]] = {}
    for node, why in found:
        merged.setdefault(why, []).extend(hosts[node.key])
    return "; ".join(f"{fold(names)}: {why}" for why, names in merged.items())
