# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A link as NetworkManager keyfiles (nm-settings-keyfile(5)) and as sysctls; text only, nothing is read or written."""

from __future__ import annotations

import ipaddress
import re
import uuid
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.request import Child, Link, Route, Selector
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.resolve import Target

DIRECTORY = "/etc/NetworkManager/system-connections"
SYSCTL_PATH = "/etc/sysctl.d/90-zerocopy-rdma-links.conf"
# Where NetworkManager looks for profiles, other than ours: what is changed for the time being goes to /run.
OTHER_DIRECTORIES = ("/run/NetworkManager/system-connections", "/usr/lib/NetworkManager/system-connections")
VFS_PATH = "/etc/NetworkManager/conf.d/90-zerocopy-rdma-vfs.conf"
UDEV_PATH = "/etc/udev/rules.d/90-zerocopy-rdma-unmanaged.rules"

HEADER = "# Written by zerocopy.rdma (nm_links). Changes are overwritten.\n"
# NetworkManager keeps this section when it writes a profile anew, as a rollback does; by it we know our own.
_MARK = ("zerocopy.rdma", "nm_links")
# What netplan writes for a profile that NetworkManager has given it (Ubuntu 23.10 and newer).
_NETPLAN = re.compile(r"/netplan-NM-([0-9a-f-]{36})[^/]*\Z")
_NAMESPACE = uuid.UUID("5b5f2a7c-4f0e-5d3b-9a51-6f2d1f4f7a10")
# Above the profiles of an installer, so that a port which comes back from a pod gets ours: cloud-init gives its own 120
# (cloudinit/net/network_manager.py), some distributions the highest that there is. Of equals the last one that was
# active goes first.
_PRIORITY = "999"
# NetworkManager probes for this long (ms) whether somebody has the address, whenever it brings the link up.
_DAD_TIMEOUT = "2000"
_RULE_PRIORITY = 32000
# Of routes without a table. NetworkManager gives devices without a metric of their own one that no other device has, in
# the order in which they come up: the management NIC's default route would have another one after each boot.
_METRIC = 1000
# RT_TABLE_MAIN (include/uapi/linux/rtnetlink.h).
_MAIN = 254

# ARP for an address only on the netdev that has it, from its own address, and answers accepted on any rail.
_SYSCTLS = (("arp_ignore", "1"), ("arp_announce", "2"), ("rp_filter", "2"))

_IFNAMSIZ = 15
# The last 8 of an IPoIB address's 20 octets, as text.
_GUID = 23

Sections = Dict[str, List[Tuple[str, str]]]


@dataclass(frozen=True)
class Profile:
    """One connection profile; ``netdev`` is the interface it will be active on, when that is known.

    ``routes`` are destination, table and gateway of those that it brings beside the ordinary ones of its addresses,
    ``rules`` source, table and priority.
    """

    id: str
    uuid: str
    netdev: Optional[str]
    text: str
    addresses: Tuple[str, ...] = ()
    mtu: Optional[int] = None
    parent: Optional[str] = None
    routes: Tuple[Tuple[str, int, Optional[str]], ...] = ()
    rules: Tuple[Tuple[str, int, int], ...] = ()

    @property
    def path(self) -> str:
        return path_of(self.id)


def path_of(connection_id: str) -> str:
    return f"{DIRECTORY}/{connection_id}.nmconnection"


def id_of(path: str) -> str:
    return path.rsplit("/", 1)[-1][: -len(".nmconnection")]


def elsewhere(path: str, other: str) -> str:
    """What is wrong where NetworkManager has one of our profiles from another file."""
    taken = _NETPLAN.search(other)
    if taken:
        return (
            f"netplan has taken over this connection: NetworkManager has it from {other} instead of {path}; remove "
            f"/etc/netplan/90-NM-{taken.group(1)}.yaml, run 'netplan generate' and 'nmcli connection reload', and "
            "repeat the run"
        )
    return (
        f"somebody has changed or copied this connection: NetworkManager has it from {other} instead of {path}; "
        "remove that file and run 'nmcli connection reload'"
    )


def is_ours(text: str) -> bool:
    """Whether this module wrote the profile, or NetworkManager wrote it anew in a rollback."""
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip()
        elif section == "[user]" and line.replace(" ", "") == "=".join(_MARK):
            return True
    return False


def uuid_in(text: str) -> Optional[str]:
    """The uuid of a profile's text."""
    return next((line.split("=", 1)[1].strip() for line in text.splitlines() if line.startswith("uuid=")), None)


def child_name(parent: str, child: Child) -> str:
    """The netdev that NetworkManager makes for a child; it shortens the parent's name where the whole is too long."""
    suffix = f".{child.suffix}"
    return parent[: _IFNAMSIZ - len(suffix)] + suffix


def uuid_of(connection_id: str, mac: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{connection_id} {mac}"))


def _route(number: int, route: Route) -> List[Tuple[str, str]]:
    nowhere = "::" if ":" in route.to else "0.0.0.0"  # noqa: S104  (a gateway; nothing listens)
    parts = [route.to]
    if route.via or route.metric is not None:
        parts.append(route.via or nowhere)
    if route.metric is not None:
        parts.append(str(route.metric))
    lines = [(f"route{number}", ",".join(parts))]
    if route.table is not None:
        lines.append((f"route{number}_options", f"table={route.table}"))
    return lines


def _rail(addresses: Sequence[str], first: int, table: int) -> List[Tuple[str, str]]:
    """What each address sends leaves by its own rail; the ordinary connected routes stay."""
    lines: List[Tuple[str, str]] = []
    for offset, text in enumerate(addresses):
        entry = ipaddress.ip_interface(text)
        lines += [
            (f"route{first + offset}", str(entry.network)),
            (f"route{first + offset}_options", f"src={entry.ip},table={table}"),
            (f"routing-rule{offset + 1}", f"priority {_RULE_PRIORITY} from {entry.ip} table {table}"),
        ]
    return lines


def _routing(addresses: Sequence[str], routes: Sequence[Route], table: Optional[int]) -> Dict[str, Any]:
    """What a profile brings, as the kernel tells it."""
    found: List[Tuple[str, int, Optional[str]]] = []
    for route in routes:
        via = str(ipaddress.ip_address(route.via)) if route.via else None
        found.append((str(ipaddress.ip_network(route.to)), route.table or _MAIN, via))
    rules = []
    for entry in map(ipaddress.ip_interface, addresses) if table is not None else ():
        found.append((str(entry.network), table or 0, None))
        rules.append((f"{entry.ip}/{entry.max_prefixlen}", table or 0, _RULE_PRIORITY))
    return {"routes": tuple(found), "rules": tuple(rules)}


def _ip(version: int, addresses: Sequence[str], routes: Sequence[Route], table: Optional[int]) -> List[Tuple[str, str]]:
    mine = [text for text in addresses if (":" in text) == (version == 6)]
    routes = [route for route in routes if (":" in route.to) == (version == 6)]
    if version == 6:
        # Link-local only: RDMA-CM over link-local GIDs needs the address, router advertisements would bring a default
        # route. With eui64 it equals the port's default GID; another one would take a GID index and shift the rest.
        lines = [("addr-gen-mode", "eui64"), ("method", "manual" if mine else "link-local")]
    else:
        lines = [("method", "manual" if mine else "disabled")]
    # A family without addresses would ask for a metric as well. Of rails in one subnet each has another table.
    lines.append(("route-metric", str(_METRIC if table is None else table)))
    if not mine and version == 4:
        return lines
    lines += [("never-default", "true"), ("ignore-auto-dns", "true"), ("ignore-auto-routes", "true")]
    if mine:
        # Without its address the link is not up: otherwise a conflict would leave it "connected" and useless.
        lines += [(f"address{number}", text) for number, text in enumerate(mine, 1)]
        lines.append(("may-fail", "false"))
        if version == 4:
            lines.append(("dad-timeout", _DAD_TIMEOUT))
    for number, route in enumerate(routes, 1):
        lines += _route(number, route)
    if table is not None and mine:
        lines += _rail(mine, len(routes) + 1, table)
    return lines


def _render(sections: Sections) -> str:
    parts = [HEADER]
    for name, lines in sections.items():
        parts.append(f"\n[{name}]\n" + "".join(f"{key}={value}\n" for key, value in lines))
    return "".join(parts)


def _connection(connection_id: str, identity: str, kind: str) -> List[Tuple[str, str]]:
    return [
        ("id", connection_id),
        ("uuid", identity),
        ("type", kind),
        ("autoconnect", "true"),
        ("autoconnect-priority", _PRIORITY),
    ]


def _mtu(mtu: Optional[int]) -> List[Tuple[str, str]]:
    return [] if mtu is None else [("mtu", str(mtu))]


def _child(link: Link, child: Child, parent: Profile, mac: str, netdev: Optional[str]) -> Profile:
    connection_id = f"{link.name}.{child.suffix}"
    identity = uuid_of(connection_id, mac)
    sections: Sections = {}
    if child.kind == "vlan":
        sections["connection"] = _connection(connection_id, identity, "vlan")
        # The parent's connection, not its interface: that survives a new name.
        sections["vlan"] = [("id", str(child.number)), ("parent", parent.uuid)]
        if child.mtu is not None:
            sections["ethernet"] = _mtu(child.mtu)
    else:
        sections["connection"] = _connection(connection_id, identity, "infiniband")
        mode = link.transport_mode or "datagram"
        # NetworkManager makes a partition only below a parent named by its interface.
        sections["infiniband"] = [("p-key", str(child.number)), ("parent", netdev or ""), ("transport-mode", mode)]
        sections["infiniband"] += _mtu(child.mtu)
    sections["ipv4"] = _ip(4, child.addresses, (), link.rail_table)
    sections["ipv6"] = _ip(6, child.addresses, (), link.rail_table)
    sections["user"] = [_MARK]
    return Profile(
        id=connection_id,
        uuid=identity,
        netdev=child_name(netdev, child) if netdev else None,
        text=_render(sections),
        addresses=child.addresses,
        mtu=child.mtu,
        parent=parent.id,
        **_routing(child.addresses, (), link.rail_table),
    )


def profiles(link: Link, target: Target) -> List[Profile]:
    """The link's profiles, parent first. A partition needs its parent's name and is left out while that is unknown."""
    mac, kind = target.mac or "", target.kind or "ethernet"
    identity = uuid_of(link.name, mac)
    device = [("mac-address", mac.upper()), *_mtu(link.mtu)]
    if kind == "infiniband":
        device.append(("transport-mode", link.transport_mode or "datagram"))
    sections: Sections = {
        "connection": _connection(link.name, identity, kind),
        kind: device,
        "ipv4": _ip(4, link.addresses, link.routes, link.rail_table),
        "ipv6": _ip(6, link.addresses, link.routes, link.rail_table),
        "user": [_MARK],
    }
    routing = _routing(link.addresses, link.routes, link.rail_table)
    parent = Profile(link.name, identity, target.netdev, _render(sections), link.addresses, link.mtu, **routing)
    children = [child for child in link.children if child.kind == "vlan" or target.netdev]
    return [parent] + [_child(link, child, parent, mac, target.netdev) for child in children]


def sysctls(profile: Profile, table: Optional[int]) -> Dict[str, str]:
    """Key (as a path, since a VLAN's name has a dot) and value of what several NICs in one subnet need."""
    if table is None or profile.netdev is None or not any(":" not in text for text in profile.addresses):
        return {}
    return {f"net/ipv4/conf/{profile.netdev}/{key}": value for key, value in _SYSCTLS}


def sysctl_given(key: str) -> Optional[str]:
    """The value that a link gives to this sysctl of its netdev."""
    return dict(_SYSCTLS).get(key.rpartition("/")[2])


def sysctl_text(values: Dict[str, str]) -> Optional[str]:
    """The file that systemd applies at boot and, by its udev rule, whenever one of the netdevs appears again."""
    if not values:
        return None
    return HEADER + "".join(f"{key} = {value}\n" for key, value in sorted(values.items()))


def vfs_text(numbers: Sequence[Tuple[str, str, int]]) -> Optional[str]:
    """What makes NetworkManager give each PF its VFs at boot, whether its profile is up or not.

    ``numbers`` are a name, the PF's permanent MAC address and how many VFs. See NetworkManager.conf(5).
    """
    if not numbers:
        return None
    sections = [
        f"\n[device-zerocopy-rdma-{name}]\nmatch-device=mac:{mac.upper()}\nsriov-num-vfs={number}\n"
        for name, mac, number in sorted(numbers)
    ]
    return HEADER + "".join(sections)


def starting_rule(match: str, unit_path: str, instance: str) -> str:
    """The rule by which systemd starts an instance of this unit for netdevs that match.

    Not udev itself, which ends what takes long. On each event, because what an event does not set is forgotten: a
    netdev that is renamed at boot has a ``move`` at once after its ``add``. systemd starts the unit once for each time
    that the netdev appears.
    """
    unit = unit_path.rsplit("/", 1)[-1].replace("@", f"@{instance}")
    return f'ACTION!="remove", SUBSYSTEM=="net", {match}, TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="{unit}"\n'


def udev_text(selectors: Sequence[Selector], mtus: Mapping[str, int], others: Sequence[str] = ()) -> Optional[str]:
    """Rules that make NetworkManager leave ports alone; ``mtus`` of VFs by PCI address, also after a stay in a pod.

    ``others`` are further rules, each a line.

    Not NetworkManager's own ``unmanaged-devices``: that matches names and MAC addresses, and a VF gets a new random
    MAC address each time it is made.
    """
    if not selectors:
        return None
    # Of an IPoIB address the port GUID alone stays.
    keys = {"pci": 'KERNELS=="{}"', "mac": 'ATTR{{address}}=="{}"', "guid": 'ATTR{{address}}=="*:{}"'}
    lines = []
    for entry in sorted(selectors, key=str):
        guid = entry.kind == "mac" and len(entry.value) > _GUID
        match = keys["guid" if guid else entry.kind].format(entry.value[-_GUID:] if guid else entry.value)
        lines.append(f'ACTION!="remove", SUBSYSTEM=="net", {match}, ENV{{NM_UNMANAGED}}="1"\n')
        if entry.value in mtus:
            lines.append(f'ACTION=="add", SUBSYSTEM=="net", {match}, ATTR{{mtu}}="{mtus[entry.value]}"\n')
    return HEADER + "".join([*lines, *others])
