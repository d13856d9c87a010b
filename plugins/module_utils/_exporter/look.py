# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What one look reads, in which order, and what is known from earlier looks.

It runs in a child process that has the parent's memory as it was (``worker``); what it finds goes to the parent as
messages, which ``heard`` takes in.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gpu, infiniband, nldev, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import (
    claims,
    ethtool_stats,
    namespaces,
    pods,
    ports,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.claims import Claims
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.namespaces import Link
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.pods import Container, Pod, Pods
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.ports import Reading
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.worker import BEGIN, Tell
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import topology
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Port

RUNTIME, KUBELET, KERNEL_LOG, HOST, GPUS = "runtime", "kubelet", "kernel_log", "host", "gpus"
_HCA, _NETNS = "hca:", "netns:"
_IDENTITY = ("made", "pci", "pf", "software", "driver", "firmware", "board", "type", "uverbs", "parent")
# The place of what is in the host's network namespace; others are numbers of namespaces.
ON_HOST = 0


class Known:
    """What looks have found; what is of the last look alone is emptied by ``begin``.

    ``gpus`` has the PCI addresses of the GPUs that each HCA is nearest to. ``links`` are netdevs in namespaces of pods.
    """

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self.pods = Pods({}, {})
        self.claims: Claims = {}
        self.identities: Dict[str, Reading] = {}
        self.gpus: Dict[str, List[str]] = {}
        self.of_gpus: List[str] = []
        self.names: Dict[str, ethtool_stats.Reading] = {}
        self.begin()

    def begin(self) -> None:
        """Empty what is of one look."""
        self.hcas: Dict[str, Reading] = {}
        self.host_links: List[Link] = []
        self.links: Dict[int, List[Link]] = {}
        self.of_links: Dict[str, Dict[str, int]] = {}
        self.functions: Set[str] = set()
        self.errors: Dict[str, str] = {}

    def heard(self, message: Sequence[Any]) -> None:
        """Take in one message of a look."""
        kind = message[0]
        if kind == "hca":
            reading = message[1]
            self.hcas[reading["name"]] = reading
            self.identities[reading["name"]] = {key: reading[key] for key in _IDENTITY}
        elif kind == "pods":
            sandboxes = {key: Pod(*value) for key, value in message[1].items()}
            containers = {
                key: Container(value[0], value[1], tuple(value[2]), value[3]) for key, value in message[2].items()
            }
            self.pods = Pods(sandboxes, containers, message[3])
        elif kind == "claims":
            self.claims = {
                (key[0], key[1], key[2]): [claims.Claimed(*each) for each in value] for key, value in message[1]
            }
        elif kind == "links":
            self._links(message[1], [Link(*each) for each in message[2]])
        elif kind == "stats":
            self.of_links[message[1]] = message[2]
        elif kind == "names":
            self.names[message[1]] = ethtool_stats.Reading(message[2], [ethtool_stats.Stat(*e) for e in message[3]], [])
        elif kind == "gpus":
            self.of_gpus, self.gpus = message[1], message[2]
        elif kind == "functions":
            self.functions = set(message[1])
        elif kind == "error":
            self.errors[message[1]] = message[2]

    def addresses(self) -> Dict[str, str]:
        """The PCI address of each netdev that is on the host and of an HCA."""
        return {
            port["netdev"]: reading["pci"]
            for reading in self.hcas.values()
            for port in reading["ports"].values()
            if reading["place"] == ON_HOST and reading["pci"] and port["netdev"]
        }

    def _links(self, place: int, found: List[Link]) -> None:
        if place == ON_HOST:
            self.host_links = found
        else:
            self.links[place] = found


class Look:
    """One look; ``tell`` takes its messages, ``skip`` are the steps to leave out."""

    def __init__(self, config: Configuration, known: Known, tell: Tell, skip: Set[str]) -> None:
        self._config, self._known, self._tell, self._skip = config, known, tell, skip
        self._tree = Tree(known.root)
        self._netdevs: Mapping[Tuple[str, int], str] = {}
        # HCAs that the host sees, also those that hang there.
        self._names: List[str] = []

    def run(self) -> None:
        """All steps."""
        if self._tree.live and self._step(RUNTIME):
            self._pods()
        if self._tree.live and self._step(KUBELET):
            self._claims()
        self._names = self._host()
        for name in self._names:
            if self._step(_HCA + name):
                self._hca(name, ON_HOST)
        if self._tree.live:
            self._namespaces()
        if self._step(GPUS):
            self._functions()

    def _step(self, what: str) -> bool:
        if what in self._skip:
            return False
        self._tell([BEGIN, what])
        return True

    def _say(self, message: List[Any]) -> None:
        """A message that what follows in this process needs as well."""
        self._known.heard(message)
        self._tell(message)

    def _pods(self) -> None:
        own = self._config.runtime_socket
        path = pods.find((own,) if own else pods.SOCKETS)
        if path is None:
            self._say(["error", RUNTIME, f"no container runtime listens{f' on {own}' if own else ''}"])
            return
        try:
            found = pods.read(path, self._known.pods)
        except pods.RuntimeSilentError as error:
            self._say(["error", RUNTIME, str(error)])
            return
        self._say(["pods", found.pods, found.containers, found.unknown])

    def _claims(self) -> None:
        try:
            found = claims.read()
        except claims.KubeletSilentError as error:
            self._say(["error", KUBELET, str(error)])
            return
        self._say(["claims", list(found.items())])

    def _host(self) -> List[str]:
        # Also where an earlier process of this look did: what follows needs it.
        self._tell([BEGIN, HOST])
        if self._tree.live:
            try:
                self._say(["links", ON_HOST, namespaces.links()])
            except OSError as error:
                self._say(["error", HOST, f"netdevs cannot be listed: {error}"])
        self._netdevs = self._of_ports()
        return self._tree.names(infiniband.CLASS)

    def _of_ports(self) -> Mapping[Tuple[str, int], str]:
        """The netdev of each port in the network namespace that this process is in."""
        if not self._tree.live:
            return {}
        try:
            return nldev.read().netdevs
        except OSError:
            return {}

    def _hca(self, name: str, place: int) -> None:
        reading = ports.read(self._tree, name, self._known.identities.get(name))
        reading["place"] = place
        links = {link.name: link for link in self._here(place)}
        for number, port in reading["ports"].items():
            netdev = self._netdevs.get((name, int(number))) or self._recorded(reading)
            link = links.get(netdev)
            port["netdev"] = netdev
            port["downs"] = link.downs if link and link.up else None
            if link and not reading["software"]:
                port["stats"] = self._stats(link)
        if not reading["ports"]:
            # It went while it was read.
            return
        self._say(["hca", reading])

    def _here(self, place: int) -> List[Link]:
        return self._known.host_links if place == ON_HOST else self._known.links.get(place, [])

    def _recorded(self, reading: Reading) -> str:
        if reading["parent"]:
            return str(reading["parent"]) if not self._tree.live else ""
        if self._tree.live or not reading["pci"]:
            return ""
        return "".join(self._tree.names(f"{pci.DEVICES}/{reading['pci']}/net")[:1])

    def _stats(self, link: Link) -> Dict[str, int]:
        key = link.pci or link.name
        before = self._known.names.get(key)
        found = ethtool_stats.read(link.name, before)
        if found is None:
            return {}
        if before is None or before.number != found.number:
            self._say(["names", key, found.number, found.stats])
        return ethtool_stats.samples(found)

    def _namespaces(self) -> None:
        """The network namespaces of pods: which netdevs and HCAs are in them."""
        own = namespaces.inode("/proc/self/ns/net")
        paths = {pod.inode: pod.netns for pod in self._known.pods.pods.values() if pod.inode not in (0, own)}
        seen = {reading["pci"]: name for name, reading in self._known.hcas.items() if reading["pci"]}
        entering: Optional[namespaces.Namespaces] = None
        for inode, path in paths.items():
            if not self._step(f"{_NETNS}{inode}"):
                continue
            entering = entering or namespaces.Namespaces()
            try:
                # The name may lead to another one by now.
                if namespaces.inode(path) == inode:
                    with entering.inside(path):
                        self._pod(entering, inode, seen)
            except FileNotFoundError:
                # The pod has ended.
                continue
            except OSError as error:
                self._tell(["error", f"{_NETNS}{inode}", f"{path}: {error}"])

    def _pod(self, entering: namespaces.Namespaces, inode: int, seen: Mapping[str, str]) -> None:
        found = namespaces.links()
        # Every pod has a veth and its loopback, which say nothing.
        mine = [link for link in found if link.pci or (link.kind in namespaces.CHILDREN and link.outside)]
        self._known.links[inode] = mine
        if mine:
            self._tell(["links", inode, mine])
        for link in mine:
            if link.pci in seen and not link.kind:
                self._tell(["stats", link.pci, self._stats(link)])
        try:
            names = {name for name in namespaces.hcas() if name not in self._names}
        except OSError:
            # A kernel without RDMA.
            return
        if names:
            self._netdevs = self._of_ports()
            with entering.sysfs():
                for name in sorted(names):
                    self._hca(name, inode)

    def _functions(self) -> None:
        """PCI functions, and the GPUs beside each HCA where its place among them is not known yet."""
        known = self._known.identities
        self._tell(["functions", [each["pci"] for each in known.values() if each["pci"] and self._there(each["pci"])]])
        placed = {name: each["pci"] for name, each in known.items() if each["pci"]}
        signature = sorted(f"{name} {address}" for name, address in placed.items())
        if signature == self._known.of_gpus:
            return
        codes = pci.classes(self._tree)
        wanted = {code[:2] for code in self._config.gpu_classes}
        functions = pci.functions(self._tree, codes, wanted)
        gpus = gpu.gpus(self._tree, functions, self._config.gpu_vendors, self._config.gpu_classes)
        hcas = [self._placed(name, address) for name, address in placed.items()]
        nodes = [name for name in self._tree.names("sys/devices/system/node") if name.startswith("node")]
        near: Dict[str, List[str]] = {}
        for entry in topology.affinity(gpus, hcas, list(placed), len(nodes)):
            for name in entry.nearest:
                near.setdefault(name, []).append(entry.address)
        self._tell(["gpus", signature, near])

    def _placed(self, name: str, address: str) -> Hca:
        numbered = self._known.hcas[name]["ports"].items() if name in self._known.hcas else ()
        found = [
            Port(
                number=int(number),
                link_layer=port["link_layer"] or None,
                rate_gbps=(port["rate_bytes_per_second"] or 0) / 125e6,
            )
            for number, port in numbered
        ]
        return Hca(name=name, pci=pci.function(self._tree, address), ports=found)

    def _there(self, address: str) -> bool:
        return self._tree.exists(f"{pci.DEVICES}/{address}")
