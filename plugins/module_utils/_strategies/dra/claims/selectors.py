# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""CEL expressions that select exactly the devices that a claim is for.

They use attributes that DRANET publishes also while a NIC is in a pod, or guard: a missing attribute is an error, which
ends the scheduler's attempt for the whole claim.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import GpuPick, NicPick
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode, verdict
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

_NIC = f'device.attributes["{model.DRANET}"]'

# DRANET publishes every NIC but the uplink: bridges of the pod network, and bonds and VLANs above RDMA NICs.
NIC_CLASS = (
    f'device.driver == "{model.DRANET}"',
    f'"rdma" in {_NIC} && {_NIC}.rdma == true',
    f'!("virtual" in {_NIC}) || {_NIC}.virtual == false',
)
# What the classes that the drivers of GPUs bring select. AMD's has parts of GPUs as well.
GPU_CLASSES = {
    model.GPU_DRIVER: (
        f'device.driver == "{model.GPU_DRIVER}"',
        f'device.attributes["{model.GPU_DRIVER}"].type == "gpu"',
    ),
    model.AMD_DRIVER: (f'device.driver == "{model.AMD_DRIVER}"',),
}

_LOOKED_AT = re.compile(r'device\.attributes\["([^"]+)"\]\.([A-Za-z0-9_]+)')


@dataclass
class Selection:
    """Expressions, and what they cannot tell apart. ``problems`` would hand a pod what is no RDMA NIC for workloads."""

    expressions: List[str] = field(default_factory=list)
    problems: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)


def _literal(value: Union[int, str]) -> str:
    """A value in CEL. JSON's strings are CEL's too, but for characters that JSON writes as two surrogates."""
    if not isinstance(value, str):
        return json.dumps(value)
    parts = [json.dumps(char)[1:-1] if char <= "\uffff" else f"\\U{ord(char):08x}" for char in value]
    return f'"{"".join(parts)}"'


def _one_of(what: str, values: Sequence[Union[int, str]]) -> str:
    if len(values) == 1:
        return f"{what} == {_literal(values[0])}"
    return f"{what} in [{', '.join(map(_literal, values))}]"


def lacking(expression: str, device: SliceDevice) -> List[str]:
    """The attributes that one of the expressions made here looks at, and the device does not have."""
    looked_at = dict.fromkeys(f"{domain}/{name}" for domain, name in _LOOKED_AT.findall(expression))
    return [attribute for attribute in looked_at if attribute not in device.attributes]


def having(attribute: str, values: Sequence[Union[int, str]]) -> str:
    """Devices with one of these values of an attribute, also where others do not have it."""
    domain, name = attribute.split("/")
    attributes = f'device.attributes["{domain}"]'
    return f'"{name}" in {attributes} && {_one_of(f"{attributes}.{name}", values)}'


def nic_address(addresses: Sequence[str]) -> str:
    """NICs at these PCI addresses; only those with one have the attribute."""
    return having(model.PCI_ADDRESS, addresses)


def nic_mac(mac: str) -> str:
    """The NIC with this MAC address, while no pod has it."""
    return having(model.MAC, [mac])


def nic_numa(number: int) -> str:
    """NICs of this NUMA node."""
    return having(model.NIC_NUMA_NODE, [number])


def nic_rail(number: int) -> str:
    """NICs of this rail, which DRANET publishes for us (``rdma_driver_attributes``)."""
    return having(names.RAIL, [number])


def _of_driver(nodes: Sequence[ClaimNode], attribute: str) -> List[str]:
    """All values of an attribute of GPUs."""
    gpus = [gpu for node in nodes for gpu in node.gpus]
    return sorted({str(gpu.attributes[attribute]) for gpu in gpus if attribute in gpu.attributes})


def of_gpus(
    pick: GpuPick, nodes: Sequence[ClaimNode], driver: str = model.GPU_DRIVER
) -> Tuple[List[str], Optional[str]]:
    """Expressions for GPUs by product (by default those of the nodes) and memory, or what is wrong with the product."""
    known = _of_driver(nodes, f"{driver}/productName")
    chosen = known
    if pick.product is not None:
        wanted = pick.product.lower()
        chosen = [name for name in known if name.lower() == wanted] or [
            name for name in known if wanted in name.lower()
        ]
        if not chosen:
            what = (
                f"the nodes have {', '.join(known)}"
                if known
                else "no node reports the product of its GPUs (is the driver loaded?)"
            )
            return [], f"but {what}"
    attributes, capacity = f'device.attributes["{driver}"]', f'device.capacity["{driver}"]'
    found = [f'{attributes}.type == "amdgpu"'] if driver == model.AMD_DRIVER else []
    models = _of_driver(nodes, f"{driver}/deviceID")
    if chosen:
        found.append(_one_of(f"{attributes}.productName", chosen))
    elif models:
        found.append(having(f"{driver}/deviceID", models))
    if pick.min_memory is not None:
        size = _literal(pick.min_memory)
        found.append(f'"memory" in {capacity} && {capacity}.memory.compareTo(quantity({size})) >= 0')
    return [*found, *pick.selectors], None


_Unfit = List[Tuple[ClaimNode, SliceDevice, str]]


def _lasting(wanted: _Unfit, unfit: _Unfit) -> Optional[str]:
    """Tells NICs that may never be handed out from the others, by what does not change."""
    fit = {device.pci for _node, device, _why in wanted}
    if None not in fit and fit.isdisjoint(device.pci for _node, device, _why in unfit):
        return nic_address(sorted(str(address) for address in fit))
    if all(model.IS_VF in device.attributes for _node, device, _why in unfit) and not any(
        model.IS_VF in device.attributes for _node, device, _why in wanted
    ):
        return f'!("isSriovVf" in {_NIC})'
    return None


# DRANET publishes the state with the netdev, and hands out a NIC without a link like any other.
LINKED = f'!("state" in {_NIC}) || {_NIC}.state == "up"'


def looks_linked(device: SliceDevice) -> bool:
    """What the expression above says of a NIC."""
    return device.attributes.get(model.STATE, "up") == "up"


def _told(found: _Unfit, hosts: Dict[str, List[str]]) -> str:
    """The NICs with their hosts, in words; equal ones are listed once."""
    merged: Dict[str, List[str]] = {}
    for node, device, why in found:
        merged.setdefault(f"{device.pci or device.name} ({why})", []).extend(hosts[node.key])
    return "; ".join(f"{fold(names)}: {what}" for what, names in merged.items())


def of_nics(pick: NicPick, nodes: Sequence[ClaimNode], hosts: Dict[str, List[str]]) -> Selection:
    """Expressions for the NICs that the pick means on all of these nodes.

    ``nodes`` are one per kind, ``hosts`` the names of all nodes of a kind by its key.
    """
    result = Selection()
    wanted: _Unfit = []
    down: _Unfit = []
    unfit: _Unfit = []
    unseen: _Unfit = []
    for node in nodes:
        for device in node.nics:
            found = verdict(node, device, pick)
            of_kind = wanted if found.wanted else down if found.passing else unseen if found.unseen else unfit
            of_kind.append((node, device, found.why))
    # A NIC at the same place of a node with facts tells what it is. Otherwise the objects would change with each pod
    # that takes a NIC away from the facts.
    known = {device.pci for _node, device, _why in unfit}
    unfit += [pair for pair in unseen if pair[1].pci in known]
    unseen = [pair for pair in unseen if pair[1].pci not in known]
    wanted += unseen
    if unseen:
        result.warnings.append(f"NICs whose rate or link layer is unknown count as matching: {_told(unseen, hosts)}")
    if unfit and not wanted + down:
        hint = "; rdma_links_vfs creates virtual functions on RDMA links" if pick.vf else ""
        result.problems.append(f"no NIC matches the request: {_told(unfit, hosts)}{hint}")
    elif unfit:
        expression = _lasting(wanted + down, unfit)
        if expression is None:
            text = (
                "no published attribute distinguishes these NICs from the requested ones: add them to "
                "rdma_driver_exclude"
            )
            result.problems.append(f"{text}: {_told(unfit, hosts)}")
        else:
            result.expressions.append(expression)
    # Nobody sets up the netdev of a VF before a pod has it.
    if pick.vf:
        result.expressions += pick.selectors
        return result
    # An InfiniBand port works while its netdev is down.
    told = all(looks_linked(device) for _node, device, _why in wanted)
    if told:
        # Also while every link is up, or the objects would change whenever one goes or comes back.
        result.expressions.append(LINKED)
    untold = [device for device in down if not told or looks_linked(device[1])]
    if untold:
        result.warnings.append(f"a pod may get a NIC without a link: {_told(untold, hosts)}")
    result.expressions += pick.selectors
    return result
