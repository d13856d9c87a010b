# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The witnesses for netdevs: iproute2's ``ip link``, ``ip address`` and ``ip route``."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Set

from .claim import Claim

Answers = Dict[str, str]


def links(answers: Answers) -> Dict[str, Dict[str, Any]]:
    """Map name to what ``ip -d link`` says."""
    return {link["ifname"]: link for link in json.loads(answers["ip_link"])}


def addresses(answers: Answers) -> Dict[str, List[str]]:
    """Map name to sorted addresses with prefix length."""
    found = {}
    for link in json.loads(answers["ip_addr"]):
        found[link["ifname"]] = sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])
    return found


def is_bond(link: Dict[str, Any]) -> bool:
    """Whether the link is a bond."""
    return bool(link.get("linkinfo", {}).get("info_kind") == "bond")


def netdev_claims(port: str, name: str, answers: Answers) -> Iterator[Claim]:
    """What iproute2 says about the netdev of a port."""
    link = links(answers)[name]
    yield Claim("ip link", f"{port} netdev_state", link["operstate"].lower())
    yield Claim("ip link", f"{port} netdev_mac", link["address"])
    yield Claim("ip link", f"{port} netdev_mtu", link["mtu"])
    yield Claim("ip link", f"{port} netdev_max_mtu", link["max_mtu"])
    yield Claim("ip link", f"{port} netdev_master", link.get("master"))
    yield Claim("ip link", f"{port} netdev_bond", is_bond(link))
    # The kernel does not tell the carrier of a netdev that is administratively down.
    yield Claim("ip link", f"{port} netdev_carrier", "LOWER_UP" in link["flags"] if "UP" in link["flags"] else None)
    yield Claim("ip address", f"{port} netdev_addresses", addresses(answers)[name])


def holders(answers: Answers) -> Dict[str, str]:
    """Map each address that only one netdev has to that netdev: link-local ones repeat on VLANs."""
    found: Dict[str, List[str]] = {}
    for name, own in addresses(answers).items():
        for address in own:
            found.setdefault(address.split("/")[0], []).append(name)
    return {address: names[0] for address, names in found.items() if len(names) == 1}


def _under_default_route(answers: Answers) -> Set[str]:
    """Return the netdevs of default routes and all netdevs these run on."""
    every = links(answers)
    found = {route["dev"] for text in ("ip_route", "ip_route6") for route in json.loads(answers[text])}
    while True:
        below = {every[name]["link"] for name in found if every[name].get("link") in every}
        below |= {name for name, link in every.items() if link.get("master") in found}
        if below <= found:
            return found
        found |= below


def exclusions(name: str, answers: Answers) -> Set[str]:
    """Return why iproute2 says that a netdev must not carry RDMA traffic."""
    every = links(answers)
    codes = set()
    if is_bond(every[name]):
        codes.add("bond")
    if is_bond(every.get(every[name].get("master", ""), {})):
        codes.add("bond_slave")
    if name in _under_default_route(answers):
        codes.add("default_route")
    virtual_macs = {vf["address"] for link in every.values() for vf in link.get("vfinfo_list", [])}
    if every[name]["address"] in virtual_macs:
        codes.add("vf")
    return codes
