# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The plan of single claims, each bound to one NIC of one host."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import addresses, ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links as plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.limits import LAYER
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import network, selectors
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import objects as claims_objects
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.layout import Ask, ClaimLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.model import (
    Claim,
    ClaimIntent,
    NicPick,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.node import ClaimNode, verdict
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import model, predict
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci as values_pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, checked, wrong
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_LAYOUT = ClaimLayout((Ask("nic", False, 1),))


@dataclass
class Bound:
    """A claim with the NIC it is for. ``rail`` is -1 for a NIC that is no rail.

    ``unseen``: a pod has the NIC, so nothing tells its MAC address, and the objects that the claim has are to be kept.
    """

    claim: Claim
    host: str
    device: SliceDevice
    rail: int = -1
    current: List[str] = field(default_factory=list)
    planned: Optional[Interface] = None
    unseen: bool = False


def _rails(
    host: str, values: Mapping[str, Any], facts: Facts, at_least: int
) -> Tuple[Dict[int, ports.Candidate], Dict[int, Interface]]:
    """The port and the planned address of each rail, as far as the variables of the role ``rdma_links`` are right."""
    planned: Dict[int, Interface] = {}
    rails = at_least
    with contextlib.suppress(PlanError):
        rails = max(rails, addresses.number_of_rails(addresses.intent(values)))
        planned = plan.addresses(host, values)
    texts = {rail: str(address.ip) for rail, address in planned.items()}
    named = values.get(ports.PORTS) or []
    return ports.rails_of(named, ports.ports(facts), rails, texts, False, values.get(LAYER)), planned


class UnseenError(PlanError):
    """A host lacks the NIC of a claim, or a pod has it: in mode exclusive, facts do not have its RDMA device then."""


def _lacking(facts: Facts, problem: Problem) -> PlanError:
    return (UnseenError if facts.system.netns_mode == "exclusive" else PlanError)(problem)


def _pci_of(claim: Claim, host: str, node: ClaimNode, facts: Facts, rails: Mapping[int, ports.Candidate]) -> str:
    """PCI address of the NIC that a claim names. Raises PlanError."""
    names = {hca.name: pci.address for hca, pci in facts.placed}
    there = ", ".join(f"{name} at {address}" for name, address in names.items()) or "no RDMA device"
    if claim.hca is not None:
        if claim.hca not in names:
            raise _lacking(facts, wrong(f"{claim.at}.hca", claim.hca, f"which {host} does not have: it has {there}"))
        return names[claim.hca]
    if claim.pci is not None:
        address = checked(f"{claim.at}.pci", claim.pci, values_pci.address)
        if address not in names.values():
            raise _lacking(facts, wrong(f"{claim.at}.pci", claim.pci, f"which {host} does not have: it has {there}"))
        return address
    if claim.rail is not None:
        port = rails.get(claim.rail)
        if port is None or port.pci is None:
            have = f"{counted(len(rails), 'rail')}, from 0" if rails else "no rail"
            raise _lacking(facts, wrong(f"{claim.at}.rail", claim.rail, f"which {host} does not have: it has {have}"))
        return port.pci
    usable = [nic.pci for nic in node.nics if verdict(node, nic, NicPick()).wanted]
    if len(usable) != 1 or usable[0] is None:
        text = f"names no NIC, but {host} has {len(usable)} usable ones ({there}): set rail, hca or pci"
        raise PlanError(Problem(claim.at, text))
    return usable[0]


def _with_netdev(device: SliceDevice, host: str, facts: Facts, wanted: ClaimIntent) -> SliceDevice:
    """The NIC as facts expect it where a pod has taken its netdev away since they were gathered."""
    if model.IF_NAME in device.attributes:
        return device
    expected = predict.predicted(host, facts, wanted.dranet, wanted.gpu, wanted.move_ib, wanted.exclude)
    return next((nic for nic in expected if nic.pci == device.pci and model.IF_NAME in nic.attributes), device)


def _is_away(pci: str, facts: Facts, node: ClaimNode) -> bool:
    """Whether a netdev of the NIC is in another network namespace."""
    netdevs = [port.netdev for hca, at in facts.placed if at.address == pci for port in hca.ports if port.netdev]
    return any(port.in_pod for port in node.ports.get(pci, [])) or not all(netdev.present for netdev in netdevs)


def bind(
    claim: Claim,
    host: str,
    values: Mapping[str, Any],
    facts: Facts,
    node: ClaimNode,
    wanted: ClaimIntent,
) -> Bound:
    """Finds the NIC of a claim; ``wanted`` is what the host's variables say of DRANET. Raises PlanError."""
    rails, planned = _rails(host, values, facts, (claim.rail or 0) + 1)
    pci = _pci_of(claim, host, node, facts, rails)
    device = next((nic for nic in node.nics if nic.pci == pci), None)
    if device is None:
        why = predict.left_out(facts, wanted.exclude).get(pci, "its driver is running, but does not publish it")
        raise PlanError(Problem(claim.at, f"is for the NIC at {pci} of {host}, which DRANET does not publish: {why}"))
    found = verdict(node, device, NicPick(vf=any(port.vf for port in node.ports.get(pci, [])), named=True))
    if not found.wanted and not found.passing:
        raise PlanError(Problem(claim.at, f"is for the NIC at {pci} of {host}, which is not usable: {found.why}"))
    rail = next((rail for rail, port in rails.items() if port.pci == pci), -1)
    current = next((port.networks for port in ports.ports(facts) if port.pci == pci), [])
    device = _with_netdev(device, host, facts, wanted)
    unseen = model.MAC not in device.attributes and _is_away(pci, facts, node)
    return Bound(claim, host, device, rail, list(current), planned.get(rail), unseen)


def problems(bound: Bound, wanted: ClaimIntent, node: ClaimNode) -> List[Problem]:
    """What is wrong with the network configuration of a claim on its NIC."""
    parameters = bound.claim.parameters
    found = list(network.of_nics(bound.claim.at, parameters, node, [bound.device]))
    return found or list(network.of_host(bound.claim, bound.current, bound.planned, wanted.dranet))


def objects(bound: Bound, wanted: ClaimIntent, parameters: Dict[str, Any]) -> List[Dict[str, Any]]:
    """The ResourceClaim in each namespace, with these parameters of DRANET, none for a NIC that is not seen."""
    if bound.unseen:
        return []
    expressions = [selectors.nic_address([str(bound.device.pci)])]
    mac = bound.device.attributes.get(model.MAC)
    if mac is not None:
        # The same address on another host is another NIC.
        expressions.append(selectors.nic_mac(str(mac)))
    spec = claims_objects.claim_spec(_LAYOUT, wanted, [], [expressions], parameters)
    return claims_objects.claims(bound.claim.name, wanted.namespaces, spec)


def warnings(bound: Sequence[Bound]) -> List[str]:
    """What nothing in the claims themselves ensures."""
    bare = [claimed for claimed in bound if model.MAC not in claimed.device.attributes]
    loose, unseen = ([claimed.claim.name for claimed in bare if claimed.unseen == is_so] for is_so in (False, True))
    text = "no MAC address is published, so only the pod's nodeSelector keeps it on its host"
    found = [f"{', '.join(loose)}: {text}"] if loose else []
    kept = "a pod has the NIC, which hides its MAC address: an existing claim is not changed, a new one is made later"
    return [*found, *([f"{', '.join(unseen)}: {kept}"] if unseen else [])]
