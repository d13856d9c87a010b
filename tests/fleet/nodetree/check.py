# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Refuses descriptions that contradict themselves, before anything is written."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from typing import Any, Iterable

from . import models
from .runtimes import RUNTIMES
from .spec import Description, DescriptionError, HcaSpec, NetdevSpec
from .stack import link_layer

SOFTWARE = {"rxe", "siw"}
NETDEV_KINDS = ("card", "hca", "bond", "bridge", "vlan")


def check(node: Description) -> None:
    def fail(at: str, text: str) -> None:
        raise DescriptionError(f"{node.source}: {at}: {text}")

    def one_of(at: str, value: object, allowed: Iterable[object]) -> None:
        choices = list(allowed)
        if value not in choices:
            fail(at, f"must be one of {', '.join(map(str, choices))}, not {value!r}")

    if bool(node.synthesised_from) == bool(node.recorded_from):
        fail("synthesised_from", "say exactly one of synthesised_from (the published text) and recorded_from")
    one_of("platform", node.platform, models.PLATFORMS)
    one_of("iommu", node.iommu, ("off", "passthrough", "translated"))
    one_of("rdma_netns", node.rdma_netns, ("shared", "exclusive"))
    if node.runtime.memlock != "unlimited" and not isinstance(node.runtime.memlock, int):
        fail("runtime.memlock", f"must be a number of bytes or 'unlimited', not {node.runtime.memlock!r}")
    if node.runtime.config:
        one_of("runtime.config", node.runtime.config, RUNTIMES)
    for name, hca in node.hcas.items():
        _check_hca(node, name, hca, fail, one_of)
    for name, netdev in node.netdevs.items():
        _check_netdev(node, name, netdev, fail, one_of)
    for index, route in enumerate(node.default_routes):
        one_of(f"default_routes[{index}].dev", route.dev, node.netdevs)
        try:
            ipaddress.ip_address(route.via)
        except ValueError:
            fail(f"default_routes[{index}].via", f"must be an IPv4 or IPv6 address, not {route.via!r}")
    _check_slots(node, fail, one_of)


def _check_hca(node: Description, name: str, hca: HcaSpec, fail: Any, one_of: Any) -> None:
    at = f"hcas.{name}"
    if hca.vf_of:
        one_of(f"{at}.vf_of", hca.vf_of, [other for other, spec in node.hcas.items() if not spec.vf_of])
        if hca.model:
            fail(f"{at}.model", "a VF takes the model of its PF, remove the key")
    elif hca.above:
        one_of(f"{at}.model", hca.model, sorted(SOFTWARE))
        one_of(f"{at}.above", hca.above, [other for other, spec in node.netdevs.items() if spec.card])
    else:
        one_of(f"{at}.model", hca.model, models.HCAS)
    if hca.lag:
        one_of(f"{at}.lag", hca.lag, [other for other, spec in node.netdevs.items() if spec.bond])
    for index, port in enumerate(hca.ports):
        one_of(f"{at}.ports[{index}].state", port.state, models.STATES)
        one_of(f"{at}.ports[{index}].phys_state", port.phys_state, ["", *models.PHYS_STATES])
        one_of(f"{at}.ports[{index}].link_layer", port.link_layer, ["", *models.RATES])
        if port.rate:
            one_of(f"{at}.ports[{index}].rate", port.rate, models.RATES[port.link_layer or "InfiniBand"])


def _check_netdev(node: Description, name: str, netdev: NetdevSpec, fail: Any, one_of: Any) -> None:
    at = f"netdevs.{name}"
    kinds = [kind for kind in NETDEV_KINDS if getattr(netdev, kind)]
    if len(kinds) != 1:
        fail(at, f"say exactly one of {', '.join(NETDEV_KINDS)}; here: {', '.join(kinds) or 'none'}")
    one_of(f"{at}.state", netdev.state, ("up", "no-carrier", "down"))
    if netdev.card:
        one_of(f"{at}.card", netdev.card, models.NICS)
    if netdev.hca:
        one_of(f"{at}.hca", netdev.hca, node.hcas)
        one_of(f"{at}.port", netdev.port, range(1, len(node.hcas[netdev.hca].ports) + 1))
        state = node.hcas[netdev.hca].ports[netdev.port - 1].state
        ethernet = link_layer(node, netdev.hca, netdev.port) == "Ethernet"
        if netdev.state == "up" and state != "ACTIVE":
            fail(f"{at}.state", f"port {netdev.port} of {netdev.hca} is {state}, so the netdev is no-carrier or down")
        if netdev.state != "up" and state == "ACTIVE" and ethernet:
            fail(
                f"{at}.state", f"port {netdev.port} of {netdev.hca} is ACTIVE, which a RoCE port is only if this is up"
            )
    if netdev.vlan:
        one_of(f"{at}.vlan", netdev.vlan, node.netdevs)
        if not 1 <= netdev.vlan_id <= 4094:
            fail(f"{at}.vlan_id", f"must be 1 to 4094, not {netdev.vlan_id}")
    for member in [*netdev.bond, *netdev.bridge]:
        one_of(f"{at}.{kinds[0]}", member, node.netdevs)
    if netdev.mac and not re.fullmatch(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", netdev.mac):
        fail(f"{at}.mac", f"must look like b8:59:9f:00:00:01, not {netdev.mac!r}")
    for address in netdev.addresses:
        try:
            ipaddress.ip_interface(address)
        except ValueError:
            fail(f"{at}.addresses", f"must look like 192.0.2.1/24 or 2001:db8::1/64, not {address!r}")
        if "/" not in address:
            fail(f"{at}.addresses", f"{address!r} has no prefix length")


def _check_slots(node: Description, fail: Any, one_of: Any) -> None:
    cards = [name for name, spec in node.netdevs.items() if spec.card]
    hcas = [name for name, spec in node.hcas.items() if not spec.vf_of and not spec.above]
    placed: Counter[str] = Counter()

    def walk(at: str, slot: Any) -> None:
        if isinstance(slot, dict):
            if list(slot) != ["switch"] or not isinstance(slot["switch"], list):
                fail(at, f"a mapping here must be 'switch: [...]', not {slot!r}")
            for index, item in enumerate(slot["switch"]):
                walk(f"{at}.switch[{index}]", item)
        elif isinstance(slot, list):
            for item in slot:
                if not isinstance(item, str):
                    fail(at, "a list in a list names the functions of one card, so it holds names only")
                walk(at, item)
        else:
            one_of(at, slot, ["gpu", *models.OTHERS, *hcas, *cards])
            placed[slot] += 1

    for number, root in enumerate(node.pci):
        if not re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}", root.root):
            fail(f"pci[{number}].root", f"must look like '0000:17', not {root.root!r}")
        for index, slot in enumerate(root.below):
            walk(f"pci[{number}].below[{index}]", slot)
    if placed["gpu"]:
        one_of("gpu", node.gpu, models.GPUS)
    for name in [*hcas, *cards]:
        if placed[name] != 1:
            fail("pci", f"{name} must be in exactly one slot, it is in {placed[name]}")
