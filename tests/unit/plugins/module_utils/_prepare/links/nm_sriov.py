# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A node with VFs as files, and what is planned for its links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, netdev, port_netdev
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import interfaces as discover_interfaces
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import Ledger
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import plan as links_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.bus import NmDevice, Snapshot
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.state import NOTES, LinkChanges, LinkState
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.links.nm_node import NodeTree

PF = "0000:81:00.0"
LINK = {"name": "rail0", "hca": "mlx5_0", "mtu": 9000, "vfs": 2}
VFS = ["0000:81:00.2", "0000:81:00.3"]
NETDEVS = ["ens1v0", "ens1v1"]


class SriovTree(NodeTree):
    """The node, whose first RDMA NIC can have 8 VFs, of which the first is the third function of its card."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        for name, value in (("totalvfs", 8), ("numvfs", 0), ("offset", 2), ("stride", 1), ("drivers_autoprobe", 0)):
            self.write(f"sys/bus/pci/devices/{PF}/sriov_{name}", f"{value}\n")

    def make(self, mtu: int = 1500, number: int = 2) -> None:
        """The VFs as they are after somebody made them."""
        self.write(f"sys/bus/pci/devices/{PF}/sriov_numvfs", f"{number}\n")
        directory = self.root / "sys/bus/pci/devices"
        for index, (pci, name) in enumerate(list(zip(VFS, NETDEVS))[:number]):
            self.nic(pci, name, f"b8:59:9f:3b:2b:a{index}")
            self.write(f"sys/class/net/{name}/mtu", f"{mtu}\n")
            self.write(f"sys/class/net/{name}/ifindex", f"{200 + index}\n")
            (directory / PF / f"virtfn{index}").symlink_to((directory / pci).resolve())
            (directory / pci / "physfn").symlink_to((directory / PF).resolve())


def disconnected(*names: str) -> Snapshot:
    return Snapshot({name: NmDevice(f"/{name}", name, 30) for name in names})


def node(tree: NodeTree, snapshot: Optional[Snapshot] = None, **addresses: str) -> LinkState:
    """The node as links read it; ``addresses`` by netdev."""
    files = Tree(str(tree.root))
    interfaces = {name: replace(found, carrier=True) for name, found in discover_interfaces.read(files).items()}
    for name, address in addresses.items():
        interfaces[name] = replace(interfaces[name], addresses=(address,))
    hcas = infiniband.hcas(files, counters=False)
    port_netdev.attach(files, hcas, None, None)
    return LinkState(
        tree=files,
        ledger=Ledger(Files(str(tree.root)), "nm_links", NOTES),
        interfaces=interfaces,
        hcas=hcas,
        routes=netdev.default_routes(files),
        snapshot=lambda: snapshot or disconnected(*interfaces),
    )


def plan(on: LinkState, *links: Dict[str, Any], unmanaged: Any = ()) -> LinkChanges:
    return links_plan.build(on, request.parse(links), request.parse_unmanaged(unmanaged))


def text_of(plan: LinkChanges, path: str) -> str:
    (entry,) = [entry for entry in plan.files if entry.path == path]
    return entry.after.content.decode() if entry.after else ""


def applied(tree: NodeTree, *links: Dict[str, Any], **notes: Any) -> None:
    """As an earlier run left the node."""
    on = node(tree)
    found = plan(on, *links)
    on.ledger.apply(found.files)
    on.ledger.notes.update(links=found.remembered, unmanaged=found.unmanaged, **notes)
    on.ledger.save()
