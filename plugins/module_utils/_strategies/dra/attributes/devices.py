# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What each NIC of a node is to have, from its facts and the rails of its links."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts, Hca
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes.configuration import (
    LAYERS,
    LEAF,
    LINK_LAYER,
    RAIL,
    RATE,
    Devices,
)

_UP = "ACTIVE"
# By PCI address the keys of values that may be there and are not known.
Untold = Dict[str, List[str]]


def _only(values: Sequence[Any]) -> List[Any]:
    """The value that all of these are, if there is one."""
    found = list(dict.fromkeys(values))
    return found if len(found) == 1 and found[0] is not None else []


def _rails(hca: Hca, rails: Sequence[Mapping[str, Any]]) -> List[int]:
    """The rails of an HCA's ports; a VF is in that of its physical function."""
    functions = [hca.pci.address if hca.pci else None, hca.sriov.pf_address]
    return [
        int(rail["name"])
        for rail in rails
        if (rail["pci"] in functions if rail["pci"] else rail["hca"] == hca.name) and rail["name"].isdigit()
    ]


def _functions(facts: Facts) -> Dict[str, List[Hca]]:
    found: Dict[str, List[Hca]] = {}
    for hca in facts.hcas:
        if hca.pci is not None:
            found.setdefault(hca.pci.address, []).append(hca)
    return found


def _rates(hcas: Sequence[Hca]) -> List[int]:
    """Those of ports that are up: for others, the kernel has a nominal one."""
    rates = [int(port.rate_gbps or 0) for hca in hcas for port in hca.ports if port.state == _UP]
    return [rate for rate in rates if rate]


def _on_the_cable(functions: Mapping[str, List[Hca]], hcas: Sequence[Hca]) -> Sequence[Hca]:
    """The physical function of a VF, if it is on the node: the VF's own port is down until somebody uses it."""
    return functions.get(hcas[0].sriov.pf_address or "", hcas)


def of_node(facts: Facts, rails: Sequence[Mapping[str, Any]], leaf: str = "") -> Devices:
    """By PCI address the values of each NIC; ``rails`` are those of the plan of links.

    ``leaf`` is the leaf group of the node, which only tells where its rails are.
    A function whose ports are in several rails, or differ otherwise, has no such value: DRANET has one device of it.
    The rate is that of ports that are up. A NIC that a pod has taken along from the host is not in the facts.
    """
    functions = _functions(facts)
    found: Devices = {}
    for address, hcas in sorted(functions.items()):
        layers = [port.link_layer for hca in hcas for port in hca.ports]
        values = {
            RAIL: _only([rail for hca in hcas for rail in _rails(hca, rails)]),
            LINK_LAYER: _only([layer for layer in layers if layer in LAYERS]),
            RATE: _only(_rates(_on_the_cable(functions, hcas))),
        }
        found[address] = {key: value[0] for key, value in values.items() if value}
        if leaf and RAIL in found[address]:
            found[address][LEAF] = leaf
    return found


def untold(facts: Facts, planned: Devices, leaf: Optional[str]) -> Untold:
    """What nobody can tell now, although it may not have changed: rates of ports that are down, leaves (``None``)."""
    functions = _functions(facts)
    dark = [address for address, hcas in functions.items() if not _rates(_on_the_cable(functions, hcas))]
    found: Untold = {address: [RATE] for address in dark}
    for address in [address for address, values in planned.items() if RAIL in values] if leaf is None else ():
        found.setdefault(address, []).append(LEAF)
    return found


def kept(planned: Devices, present: Devices, unknown: Untold) -> Devices:
    """The planned values, with those present of what nobody can tell now."""
    return {
        address: {**{key: present[address][key] for key in unknown.get(address, ()) if key in present[address]}, **own}
        if address in present
        else own
        for address, own in planned.items()
    }


def joined(planned: Devices, present: Devices) -> Devices:
    """The planned values with those that a NIC had that is away now: it is in a pod, and its claim was made by them.

    A rail that another NIC has by now is not kept.
    """
    taken = {values.get(RAIL) for values in planned.values()}
    away = {
        address: values
        for address, values in present.items()
        if address not in planned and (RAIL not in values or values[RAIL] not in taken)
    }
    return {**away, **planned}
