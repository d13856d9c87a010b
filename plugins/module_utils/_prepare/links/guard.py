# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What must never be touched: the node's own way to the network, and ours to the node."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from typing import Dict, Mapping, Optional, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Link
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

_PARENT = re.compile(r"^PPid:\s*([0-9]+)$", re.MULTILINE)
_DEEPEST = 64


@dataclass(frozen=True)
class SshSession:
    """Both ends of the ssh connection that this process came in by; ``netdevs`` carry the node's end."""

    client: str
    server: str
    netdevs: Mapping[str, str] = field(default_factory=dict)


def _connection(environment: bytes) -> Optional[str]:
    prefix = b"SSH_CONNECTION="
    found = next((entry for entry in environment.split(b"\0") if entry.startswith(prefix)), None)
    return None if found is None else found[len(prefix) :].decode("ascii", "replace")


def ssh_connection(tree: Tree) -> Optional[str]:
    """``SSH_CONNECTION`` of this process, or of the nearest parent that has one: sudo drops it for its child."""
    own = os.environ.get("SSH_CONNECTION")
    pid: Optional[int] = os.getppid()
    for _depth in range(_DEEPEST):
        if own or not pid:
            break
        own = _connection(tree.data(f"proc/{pid}/environ") or b"")
        parent = _PARENT.search(tree.text(f"proc/{pid}/status") or "")
        pid = int(parent.group(1)) if parent else None
    return own or None


def _below(tree: Tree, name: str) -> Dict[str, str]:
    """The netdev and everything it runs on, each mapped to what it is needed by."""
    found, pending = {}, [name]
    while pending:
        current = pending.pop()
        if current not in found:
            found[current] = name
            pending += netdev.lower_netdevs(tree, current)
    return found


def session(tree: Tree, interfaces: Mapping[str, Interface], text: Optional[str]) -> Optional[SshSession]:
    """What ``SSH_CONNECTION`` means on this node; ``None`` when it has none (console, local, ansible-pull)."""
    words = (text or "").split()
    if len(words) != 4:
        return None
    # sshd writes a link-local address with its zone.
    client, server = (word.split("%")[0] for word in (words[0], words[2]))
    netdevs: Dict[str, str] = {}
    for entry in interfaces.values():
        if any(address.split("/")[0] == server for address in entry.addresses):
            netdevs.update(_below(tree, entry.name))
    return SshSession(client, server, netdevs)


def problem(
    tree: Tree, name: str, routes: netdev.DefaultRoutes, ours: Optional[SshSession], physical: bool
) -> Optional[str]:
    """Why the netdev ``name`` must be left alone, or ``None``."""
    if ours and name in ours.netdevs:
        through = "" if ours.netdevs[name] == name else f" (through {ours.netdevs[name]})"
        return f"{name} carries this Ansible connection{through}"
    holder = routes.needed.get(name)
    if holder:
        return "{} carries the default route{}".format(name, "" if holder == name else f" (through {holder})")
    if not routes.complete:
        return f"the routing tables cannot be read, so {name} may carry the default route"
    if netdev.is_bond(tree, name):
        return f"{name} is a bond"
    master = tree.target_name(f"{netdev.CLASS}/{name}/master")
    if master:
        kind = "bond" if netdev.is_bond(tree, master) else "bridge" if netdev.is_bridge(tree, master) else "device"
        return f"{name} belongs to {kind} {master}"
    if not physical:
        return f"{name} is a virtual netdev, not the port of a NIC"
    return None


def _is_in(address: str, network: Union[ipaddress.IPv4Network, ipaddress.IPv6Network]) -> bool:
    """Whether it is an address of the network; sshd calls the ends of a connection that is no TCP ``UNKNOWN``."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed in network and not parsed.is_link_local


def check_networks(routes: netdev.DefaultRoutes, link: Link, ours: Optional[SshSession]) -> None:
    """Whether the link's networks leave the ways to the controller and to the default gateway as they are.

    :raises HostError: a network would draw them to the link.
    """
    needed = dict.fromkeys(routes.gateways, "the default gateway")
    if ours:
        needed.update({ours.client: "where Ansible connects from", ours.server: "the address that Ansible connects to"})
    for option, text in link.networks:
        network = ipaddress.ip_interface(text).network
        for address, what in needed.items():
            if _is_in(address, network):
                raise HostError(
                    f"links: {link.name}: {option}: {network} would contain {address}, {what}; "
                    f"choose a network for the fabric alone"
                )
