# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How a template keeps GPUs and NICs together on the nodes of its group, and why it does so in this way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import fit as claims_text
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import layout as claims_layout
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.fit import Fit, Hosts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.layout import ClaimLayout, NumaError
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted


@dataclass
class Choice:
    """``layouts`` are the variants of the template, of which a pod uses one.

    ``unseen``: pods may have the NICs that a choice depends on, so the objects that an earlier one has made are right.
    """

    align: str
    layouts: List[ClaimLayout]
    why: str
    unseen: bool = False


@dataclass
class _Way:
    """One way to align: variants, of which at least one has to fit on a node."""

    layouts: List[ClaimLayout]
    text: str


def _in_groups(layout: ClaimLayout) -> str:
    """How a layout divides GPUs and NICs: ``4 groups of 1 GPU and 1 NIC, each``."""
    number, (gpu, nic) = len(layout.together), layout.requests[:2]
    own = f"{counted(gpu.count or 0, 'GPU')} and {counted(nic.count or 0, 'NIC')}"
    return own if number == 1 else f"{number} groups of {own}, each"


def _pcie_root(fit: Fit, _nodes: Sequence[ClaimNode]) -> List[_Way]:
    layout = claims_layout.grouped(fit.template, model.PCIE_ROOT)
    return [_Way([layout], f"{_in_groups(layout)} on one PCIe root complex")]


def _numa(fit: Fit, nodes: Sequence[ClaimNode]) -> List[_Way]:
    template = fit.template
    standard = all(model.NUMA_NODE in device.attributes for node in nodes for device in node.gpus + node.nics)
    if standard:
        groups = claims_layout.grouped(template, model.NUMA_NODE)
        return [
            _Way([claims_layout.whole(template, model.NUMA_NODE)], "all on one NUMA node"),
            _Way([groups], f"{_in_groups(groups)} on one NUMA node"),
        ]
    layouts = claims_layout.by_numa(template, nodes)
    ways = [_Way(layouts, "all on one NUMA node, one template for each")]
    across = claims_layout.across_numa(template, nodes)
    if across is not None:
        ways.append(_Way([across], "the same share on every NUMA node"))
    return ways


def _unaligned(fit: Fit, nodes: Sequence[ClaimNode]) -> List[_Way]:
    return [_Way(claims_layout.apart(fit.template, nodes), "GPUs and NICs of different NUMA nodes")]


_WAYS: Dict[str, Callable[[Fit, Sequence[ClaimNode]], List[_Way]]] = {
    "pcie_root": _pcie_root,
    "numa": _numa,
    "unaligned": _unaligned,
}


def _misfits(fit: Fit, way: _Way, nodes: Sequence[ClaimNode]) -> List[Tuple[ClaimNode, str]]:
    """Nodes on which no variant fits, with the reason."""
    found = []
    for node in nodes:
        if not any(fit.fits(node, layout) for layout in way.layouts):
            found.append((node, fit.why_not(node, way.layouts[0])))
    return found


def _useful(fit: Fit, way: _Way, nodes: Sequence[ClaimNode]) -> List[ClaimLayout]:
    """Variants that fit on some node; all where none does."""
    return [layout for layout in way.layouts if any(fit.fits(node, layout) for node in nodes)] or way.layouts


_WHAT = {"pcie_root": "PCIe root complex", "numa": "NUMA node"}


def _worth_nothing(fit: Fit, align: str, nodes: Sequence[ClaimNode]) -> Optional[str]:
    """Why this alignment says nothing: every GPU goes with every NIC, as in a flat virtual machine."""
    several = False
    for node in nodes:
        devices = [node.devices[place] for place in fit.matching(node)]
        numa = [node.numa.get(device.pci or "") for device in devices]
        values = set(numa) if align == "numa" else {device.attributes.get(model.PCIE_ROOT) for device in devices}
        if len(values) != 1 or None in values:
            return None
        # Of one GPU and one NIC, there is one pair.
        several = several or len(devices) > 2
    return f"all GPUs and NICs have one {_WHAT[align]}, so any pair would do" if several else None


def choose(fit: Fit, nodes: Sequence[ClaimNode], hosts: Hosts) -> Choice:
    """The layouts of a template on these nodes, one of each kind.

    With ``auto`` they fit on every node that has the devices at all; with another ``align`` they may not fit anywhere.
    Raises NumaError where what was asked for cannot even be expressed.
    """
    template = fit.template
    able = [node for node in nodes if fit.lacking(node) is None]
    plain = [claims_layout.plain(template)]
    if template.align == "none":
        return Choice("none", plain, "counts only")
    if not template.gpus or template.nics in (0, None):
        return Choice("none", plain, "there is nothing to align")
    if not able and template.align != "pcie_root" and any(node.may_hide_nics for node in nodes):
        return Choice(template.align, plain, "undecided while pods have the NICs", unseen=True)
    if template.align != "auto":
        try:
            ways = _WAYS[template.align](fit, able or nodes)
        except NumaError as error:
            if able or not nodes:
                raise
            # Where devices are does not matter where there are too few of them.
            raise NumaError(claims_text.misfits([(node, str(fit.lacking(node))) for node in nodes], hosts)) from error
        best = min(ways, key=lambda way: len(_misfits(fit, way, able)))
        nothing = _worth_nothing(fit, template.align, able) if able and template.align in _WHAT else None
        return Choice(template.align, _useful(fit, best, able), "; ".join([best.text, *([nothing] if nothing else [])]))
    if not able:
        return Choice("none", plain, "no node has the requested devices")
    reasons = []
    for align in ("pcie_root", "numa"):
        nothing = _worth_nothing(fit, align, able)
        if nothing is not None:
            reasons.append(f"not {align}, {nothing}")
            continue
        try:
            ways = _WAYS[align](fit, able)
        except NumaError as error:
            reasons.append(f"not {align}, {error}")
            continue
        misfits = [_misfits(fit, way, able) for way in ways]
        for way, against in zip(ways, misfits):
            if not against:
                return Choice(align, _useful(fit, way, able), "; ".join([way.text, *reasons]))
        reasons.append(f"not {align}, {claims_text.misfits(misfits[0], hosts)}")
    return Choice("none", plain, "; ".join(["counts only", *reasons]))
