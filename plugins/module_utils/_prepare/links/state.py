# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The state of a node as far as its links need it, the notes in its ledger, and the changes to make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import interfaces as discover_interfaces
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.interfaces import Interface
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.netdev import DefaultRoutes
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.qos import Ets, dscp_text
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.document import (
    by_name,
    flag,
    listed,
    maybe,
    number,
    record,
    text,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import FileChange, Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile, qos_unit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.guard import SshSession
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import DIRECTORY, Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

if TYPE_CHECKING:
    # Needed only where something has to change, and loading is what the module's steady state costs.
    from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import (
        ActiveConnection,
        NmDevice,
        Snapshot,
    )

CONCERN = "nm_links"


@dataclass(frozen=True)
class LinkState:
    """What is read of the node before anything is decided. ``snapshot`` asks NetworkManager, once and only if needed;
    ``None`` where nothing live may be looked at."""

    tree: Tree
    ledger: Ledger
    interfaces: Mapping[str, Interface]
    hcas: Sequence[Hca]
    routes: DefaultRoutes
    session: Optional[SshSession] = None
    snapshot: Optional[Callable[[], Snapshot]] = None


@dataclass(frozen=True)
class Sysctl:
    key: str
    before: str
    after: str

    @property
    def change(self) -> Change:
        return Change("sysctl", self.key, self.before, self.after)


@dataclass(frozen=True)
class PfVfs:
    """VFs that a link asks for: the PF's PCI address and permanent MAC address, how many, and where they are.

    ``guids`` are those of the VFs in their order; of an Ethernet port there are none.
    """

    link: str
    pci: str
    mac: Optional[str]
    number: int
    mtu: Optional[int]
    addresses: Tuple[str, ...]
    guids: Tuple[str, ...] = ()


@dataclass(frozen=True)
class VfChange:
    """Another number of VFs of the PF ``pci``, or as many made anew because of their ``guids``.

    Those are a VF's PCI address, the GUID it has, and the right one.
    """

    pci: str
    before: int
    after: int
    guids: Tuple[Tuple[str, str, str], ...] = ()

    @property
    def changes(self) -> List[Change]:
        if self.guids:
            return [Change("vf_guid", *entry) for entry in self.guids]
        return [Change("vfs", self.pci, self.before, self.after)]


@dataclass(frozen=True)
class QosChange:
    """One setting of a port (``mlx5_0/1``): ``dscp``, ``ets``, ``pfc`` or ``tos``, with values as notes have them."""

    name: str
    netdev: str
    what: str
    before: Any
    after: Any

    def _shown(self, value: Any) -> str:
        if self.what == "tos":
            return "unknown" if value is None else str(value)
        if self.what == "ets":
            return str(Ets(**value))
        if self.what == "dscp":
            return dscp_text(value) if value else "none (the VLAN tag is trusted)"
        return ", ".join(map(str, value)) or "none"

    @property
    def change(self) -> Change:
        words = {"dscp": "DSCP map", "ets": "ETS", "pfc": "PFC", "tos": "RDMA-CM type of service"}
        return Change("qos", f"{self.netdev} {words[self.what]}", self._shown(self.before), self._shown(self.after))


@dataclass
class QosPlan:
    """``changes`` in their order; ``notes`` of all ports that are asked for, or that are away and get something back.

    ``ports`` are those of the script.
    """

    changes: List[QosChange] = field(default_factory=list)
    notes: Dict[str, Any] = field(default_factory=dict)
    ports: List[qos_unit.Port] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)


def interfaces(tree: Tree) -> Dict[str, Interface]:
    """All netdevs of the node by name. Raises HostError."""
    try:
        return discover_interfaces.read(tree)
    except OSError as error:
        raise HostError(f"the kernel does not list its network interfaces (rtnetlink): {error}") from error


def _describe(device: Optional[NmDevice]) -> str:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import describe

    return describe(device)


@dataclass
class LinkChanges:
    """All that has to change, in the order in which it is done: files, sysctls, connections, devices.

    ``pending`` are path and uuid of the profiles that NetworkManager has to read or to forget, ``children`` those that
    need another one, ``wanted`` all sysctls. ``up`` are profiles to activate, ``down`` those that lose their file while
    active. ``mtus`` is what netdevs get back afterwards (netdev, now, before us), ``again`` what was active on them and
    is to be so again (device, uuid, id). ``pfs`` are the VFs of all links, ``vfs`` PFs that need another number,
    ``vf_mtus`` VFs that stay and need another MTU (netdev, now, then). ``handed`` are netdevs and whether
    NetworkManager shall manage them; ``left`` netdevs that are nothing of ours any more; ``edited`` notes of dropped
    links whose profile somebody edited, so that it stays. ``profiles`` are those of all links, ``ports`` MAC addresses
    of ports by netdev. ``freed`` are connections that NetworkManager only shows because of what we left on a netdev
    when it was killed, ``rules`` policy rules of ours that nothing needs any more, ``strays`` VLANs and partitions of
    ours that no link has any more. ``kept`` are names under which ports
    are noted that are away, and that something is to be given back to; ``alone`` netdevs that NetworkManager already
    left alone before it was to do so.
    """

    files: List[FileChange] = field(default_factory=list)
    edited: Dict[str, Any] = field(default_factory=dict)
    sysctls: List[Sysctl] = field(default_factory=list)
    wanted: Dict[str, str] = field(default_factory=dict)
    pending: Dict[str, Optional[str]] = field(default_factory=dict)
    children: Set[str] = field(default_factory=set)
    up: List[Tuple[Profile, Optional[NmDevice]]] = field(default_factory=list)
    down: List[Tuple[str, Optional[NmDevice]]] = field(default_factory=list)
    mtus: List[Tuple[str, int, int]] = field(default_factory=list)
    again: List[Tuple[NmDevice, str, str]] = field(default_factory=list)
    pfs: List[PfVfs] = field(default_factory=list)
    vfs: List[VfChange] = field(default_factory=list)
    vf_mtus: List[Tuple[str, int, int]] = field(default_factory=list)
    handed: List[Tuple[str, bool]] = field(default_factory=list)
    qos: QosPlan = field(default_factory=QosPlan)
    left: List[str] = field(default_factory=list)
    kept: List[str] = field(default_factory=list)
    alone: List[str] = field(default_factory=list)
    profiles: List[Profile] = field(default_factory=list)
    ports: Dict[str, Optional[str]] = field(default_factory=dict)
    freed: List[Tuple[str, ActiveConnection]] = field(default_factory=list)
    rules: List[str] = field(default_factory=list)
    strays: List[str] = field(default_factory=list)
    remembered: Dict[str, Any] = field(default_factory=dict)
    unmanaged: Dict[str, str] = field(default_factory=dict)
    links: List[Dict[str, Any]] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)

    @property
    def load(self) -> List[List[str]]:
        """Paths of the profiles that NetworkManager has to read, or to forget.

        Parents first: it makes a VLAN's device when it reads the profile, if it knows the parent by then.
        """
        profiles = [path for path in self.pending if path.startswith(f"{DIRECTORY}/")]
        parents, children = (
            [path for path in sorted(profiles) if (path in self.children) == is_child] for is_child in (False, True)
        )
        return [paths for paths in (parents, children) if paths]

    @property
    def changes(self) -> List[Change]:
        """The changes as users see them; the work itself uses the lists."""
        found = [entry.change for entry in self.files if entry.before != entry.after]
        found += [entry.change for entry in self.sysctls]
        found += [Change("rule", rule, "present", "absent") for rule in self.rules]
        found += [Change("connection", name, _describe(device), "absent") for name, device in self.down]
        found += [Change("connection", active.id, f"connected on {name}", "absent") for name, active in self.freed]
        # The others go with their connections.
        going = {device.name for _name, device in self.down if device}
        found += [Change("netdev", name, "present", "absent") for name in self.strays if name not in going]
        found += [
            Change("connection", entry.id, _describe(device), "connected as configured") for entry, device in self.up
        ]
        found += [change for entry in self.vfs for change in entry.changes]
        found += [Change("mtu", name, before, after) for name, before, after in [*self.vf_mtus, *self.mtus]]
        found += [
            Change("connection", name, "disconnected", f"connected on {dev.name}") for dev, _u, name in self.again
        ]
        found += [entry.change for entry in self.qos.changes]
        words = {True: "managed", False: "unmanaged"}
        found += [Change("device", name, words[not managed], words[managed]) for name, managed in self.handed]
        return found


_LINK = record(
    {"selector": text, "kind": maybe(text), "mac": text, "netdev": maybe(text)}, {"pci": text, "guids": listed(text)}
)
_CHECKPOINT = record(
    {"path": maybe(text), "devices": listed(text), "seconds": number},
    {
        "profiles": by_name(listed(text)),
        "since": number,
        "until": number,
        "up": listed(text),
        "sysctl": by_name(text),
        "sysctl_given": by_name(text),
        "sysctl_file": maybe(text),
    },
)
_PORT = record({"mac": maybe(text), "addresses": listed(text), "rules": listed(text)}, {"mtu": number})
_ETS = record({"traffic_classes": listed(number), "algorithms": listed(text), "bandwidth": listed(number)}, {})
_QOS = record(
    {
        "netdev": text,
        "mac": text,
        "before": record({}, {"dscp": listed(number), "ets": _ETS, "pfc": listed(number), "tos": number}),
        "wanted": by_name(maybe(number)),
        "made": flag,
    },
    {},
)
# ``unmanaged`` are the kinds of selectors by their values; of ports see ``ports``, of ``qos`` see there.
# ``profiles`` of a checkpoint are the uuids that each file may have after a rollback; it was created between ``since``
# and ``until`` (CLOCK_BOOTTIME, ms). ``up`` are uuids of what is active with it, ``sysctl`` and ``sysctl_file`` what
# there was before, ``sysctl_given`` what we have set: NetworkManager does not roll these back.
NOTES = {
    "links": by_name(_LINK),
    "unmanaged": by_name(text),
    "sysctl": by_name(text),
    "prior": by_name(maybe(record({"uuid": text, "id": text}, {"addresses": listed(text)}))),
    "mtu": by_name(number),
    "ports": by_name(_PORT),
    "alone": by_name(flag),
    "vfs": by_name(number),
    "qos": by_name(_QOS),
    "pending": by_name(maybe(text)),
    "checkpoint": _CHECKPOINT,
}


def adopt_rolled_back(ledger: Ledger) -> None:
    """Know the profiles again that NetworkManager wrote anew when it rolled back an unconfirmed change.

    It leaves out comments and defaults, so they are not what we wrote, but they have our mark and uuid.
    """
    for path, uuids in ledger.notes.get("checkpoint", {}).get("profiles", {}).items():
        found = ledger.files.text(path)
        if found is not None and keyfile.is_ours(found) and keyfile.uuid_in(found) in uuids:
            ledger.adopt(path)
