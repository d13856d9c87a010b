# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The netdevs of a pod: that of the CNI, and those that came with its NICs and have to go back to the node."""

from __future__ import annotations

import ipaddress
from typing import Any, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.allocation import PodJudge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod.report import PodNetdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.address import Interface, prefix
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# What containerd and CRI-O tell the CNI to call its netdev.
_CNI = "eth0"
_TOO_LATE = "Check that NRI is on and its plugin_request_timeout is long enough, and restart the pod."
_NO_CNI = "See the pod's events, and the log of the CNI on the node."


def _global(addresses: Sequence[str]) -> List[str]:
    """Without link-local ones, which are the kernel's own."""
    return [address for address in addresses if not address.startswith("fe80:")]


def _meant(address: str) -> Union[Interface, str]:
    """What an address is, since people may spell an IPv6 address in another way than the kernel."""
    return prefix(address) or address


Entry = TypeVar("Entry")


def _gone(before: Optional[List[Entry]], now: Optional[List[Entry]]) -> List[Entry]:
    """What there was and is no more; nothing where one of both is not known."""
    return [] if before is None or now is None else [entry for entry in before if entry not in now]


class NetdevJudge(PodJudge):
    def netdevs(self) -> Iterator[Check]:
        """The NIC beside the one that the CNI gave, with the MTU that it had on the node, and its address."""
        for netdev in (port.netdev for nic in self.nics for port in nic.ports):
            if netdev is None or not netdev.present:
                continue
            found = next((name for name, own in self.report.netdevs.items() if own.mac == netdev.mac), None)
            if found is None:
                text = f"{netdev.name} ({netdev.mac}) is not in the pod, only {', '.join(self.report.netdevs)}"
                yield self.check("netdev", "fail", text, *((_TOO_LATE, "runtime") if self.spec else (_NO_CNI, "")))
            else:
                yield self._netdev(found, self.report.netdevs[found], netdev)

    def _netdev(self, name: str, own: PodNetdev, netdev: Netdev) -> Check:
        settings = self._settings()
        mtu = next((int(setting["mtu"]) for setting in settings if setting.get("mtu")), netdev.mtu)
        if not own.lower_up:
            text = f"{name} is in the pod, but its link is down (no LOWER_UP)"
            return self.check("netdev", "fail", text, "Check the link's other end: cable, switch port, peer.")
        if own.mtu != mtu:
            text = f"{name} has MTU {own.mtu} in the pod, and should have {mtu}"
            return self.check("netdev", "fail", text, "See what changes the MTU: the CNI, or the claim.", mtu=own.mtu)
        if not self.report.has_addresses:
            text = f"{name} is in the pod; its addresses are unknown, the image has no ip"
            return self.check("netdev", "impossible", text, "Use an image with iproute2.")
        if self.request.networks:
            return self._of_networks(name, own)
        wanted = [address for setting in settings for address in setting.get("addresses") or []] or _global(
            netdev.addresses
        )
        there = {_meant(address) for address in own.addresses}
        missing = [address for address in wanted if _meant(address) not in there]
        if missing:
            remedy = "Give the NIC an address on the host (rdma_links_subnet) or in the claim."
            return self.check("netdev", "fail", f"{name} lacks {', '.join(missing)}", remedy, found=own.addresses)
        return self.check("netdev", "pass", f"{name} has {', '.join(wanted) or 'no address'}", mtu=own.mtu)

    def _settings(self) -> List[Mapping[str, Any]]:
        """What the claim says of its interfaces."""
        configs = self.spec["devices"].get("config") or [] if self.spec else []
        return [config["opaque"]["parameters"].get("interface") or {} for config in configs]

    def _of_networks(self, name: str, own: PodNetdev) -> Check:
        networks = [ipaddress.ip_network(network) for network in self.request.networks]
        found = _global(own.addresses)
        if any(ipaddress.ip_interface(address).ip in network for address in found for network in networks):
            return self.check("netdev", "pass", f"{name} has {', '.join(found)}", mtu=own.mtu)
        text = f"{name} has {', '.join(found) or 'no address'}, and none in {', '.join(self.request.networks)}"
        return self.check("netdev", "fail", text, _NO_CNI, found=own.addresses)

    def cni(self) -> Check:
        """The netdev of the CNI, which is called eth0 in every runtime: the RDMA NIC comes beside it."""
        own = self.report.netdevs.get(_CNI)
        remedy = f"See the log of the CNI on the node, and check whether something renames the RDMA NIC to {_CNI}."
        if own is None:
            text = f"the pod has no {_CNI} of the CNI, only {', '.join(self.report.netdevs) or 'no netdev'}"
            return self.check("cni", "fail", text, remedy)
        nics = [port.netdev.mac for nic in self.nics for port in nic.ports if port.netdev]
        if own.mac in nics:
            return self.check("cni", "fail", f"{_CNI} is the RDMA NIC; the netdev of the CNI is gone", remedy)
        if not own.lower_up:
            return self.check("cni", "fail", f"{_CNI} of the CNI has no LOWER_UP", remedy)
        addresses = _global(own.addresses)
        if self.report.has_addresses and not addresses:
            return self.check("cni", "fail", f"{_CNI} of the CNI has no address", remedy)
        return self.check("cni", "pass", f"{_CNI} of the CNI is up with {', '.join(addresses) or 'unknown addresses'}")

    def returned(self) -> Iterator[Check]:
        """Whether each NIC is back on its host as it was."""
        if self.node.after is None:
            if self.node.looked and self.nics:
                names = joined([nic.text for nic in self.nics])
                text = f"it is unknown whether the host has {names} back: it gave no facts of use after the pod"
                yield self.check("return", "fail", text, "See the error of the task that gathers the facts again.")
            return
        after = {hca.name: hca for hca in self.node.after.hcas}
        for nic in self.nics:
            hca = nic.hca
            if hca is None:
                continue
            again = after.get(hca.name)
            if again is None:
                text = f"{nic.text} is not back on the host"
                yield self.check("return", "fail", text, "Check whether the pod's network namespace still exists.")
                continue
            for port, now in zip(hca.ports, again.ports):
                yield from self._returned(f"{nic.text}/{port.number}", port.netdev, now.netdev)

    def _returned(self, name: str, before: Optional[Netdev], now: Optional[Netdev]) -> Iterator[Check]:
        if before is None or not before.present:
            return
        if now is None or not now.present:
            text = f"the netdev of {name} is not back on the host"
            yield self.check("return", "fail", text, "Check whether the pod's network namespace still exists.")
            return
        lost = sorted(set(before.addresses) - set(now.addresses))
        what = [f"address {', '.join(lost)}"] if lost else []
        what += [f"route to {route.to} (table {route.table})" for route in _gone(before.routes, now.routes)]
        what += [f"rule from {rule.source} (table {rule.table})" for rule in _gone(before.rules, now.rules)]
        if what or now.mtu != before.mtu:
            what += [f"MTU {before.mtu} (now {now.mtu})"] if now.mtu != before.mtu else []
            text = f"the netdev of {name} came back without {' and '.join(what)}"
            remedy = "Let NetworkManager manage the NIC: set rdma_links_subnet or rdma_links_mtu."
            yield self.check("return", "fail", text, remedy, "links")
        else:
            yield self.check("return", "pass", f"the netdev of {name} is back on the host as it was")
