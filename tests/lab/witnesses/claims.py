# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""All claims of all witnesses about one node, and what follows from several of them together."""

from __future__ import annotations

import ipaddress
import json
from typing import Iterator, List

from . import netdevs, pci, rdma
from .claim import Claim

Answers = rdma.Answers


def all_claims(answers: Answers, gpu_vendors: List[str]) -> Iterator[Claim]:
    """Yield every claim the answers support."""
    yield from rdma.rdma_claims(answers)
    yield from rdma.ibv_claims(answers)
    yield from rdma.device_node_claims(answers)
    yield from _pci_claims(answers, gpu_vendors)
    yield from _port_claims(answers)
    yield from _system_claims(answers)


def _pci_claims(answers: Answers, gpu_vendors: List[str]) -> Iterator[Claim]:
    functions = pci.parse_lspci(answers["lspci"], answers["lspci_verbose"])
    topology = pci.parse_lstopo(answers["lstopo"])
    yield Claim("lstopo", "system numa_nodes", topology.numa_nodes)
    gpus = sorted(
        f.address for f in functions.values() if f.vendor_id in gpu_vendors and f.class_id[:2] in ("03", "12")
    )
    yield Claim("lspci", "gpus", gpus)
    for gpu in gpus:
        yield from pci.function_claims(f"gpu {gpu}", gpu, functions, topology)
    for (hca, _port), netdev in rdma.port_netdevs(answers).items():
        # A device of its own has its place under its own name, Soft-RoCE under the name of its netdev.
        address = topology.by_name.get(hca) or topology.by_name.get(netdev)
        if address is None:
            yield Claim("lstopo", f"{hca} address", None)
            continue
        yield from pci.function_claims(hca, address, functions, topology)
        yield from pci.sriov_claims(hca, address, functions)
        for gpu in gpus:
            path_class = pci.path_class(topology.places[gpu], topology.places[address])
            yield Claim("lstopo", f"gpu {gpu} to {hca} path_class", path_class)
            between = set(topology.places[gpu].pcie_path[:-1]) ^ set(topology.places[address].pcie_path[:-1])
            # The facts tell ACS for the HCAs a GPU should use; those are surely below its own switch.
            for bridge in between if path_class == "PIX" else ():
                yield Claim("lspci", f"{bridge} acs", functions[bridge].redirects)


def _port_claims(answers: Answers) -> Iterator[Claim]:
    holders = netdevs.holders(answers)
    devices = rdma.parse_ibv_devinfo(answers["ibv_devinfo"])
    for (hca, number), netdev in rdma.port_netdevs(answers).items():
        port = f"{hca}/{number}"
        yield from netdevs.netdev_claims(port, netdev, answers)
        candidates = []
        for index, gid, kind in devices[hca]["ports"][number]["gids"]:
            address = ipaddress.IPv6Address(gid)
            holder = holders.get(str(address.ipv4_mapped or address))
            if holder:
                yield Claim("ip address", f"{port} gid {index} gid_netdev", holder)
            if holder == netdev and kind == "RoCE v2" and address.ipv4_mapped:
                candidates.append(index)
        if candidates:
            yield Claim("ip address", f"{port} roce_v2_gid_index", min(candidates))
        codes = netdevs.exclusions(netdev, answers)
        if not devices[hca]["ports"][number]["state"].startswith("PORT_ACTIVE"):
            codes.add("port_down")
        yield Claim("ip and ibv_devinfo", f"{port} excluded", sorted(codes))


def _system_claims(answers: Answers) -> Iterator[Claim]:
    yield Claim("uname", "system kernel", answers["kernel"].strip())
    loaded = {line.split()[0] for line in answers["lsmod"].splitlines()[1:]}
    for module in sorted(loaded & {"ib_core", "ib_uverbs", "ib_umad", "rdma_cm", "rdma_ucm"}):
        yield Claim("lsmod", f"system module {module}", "loaded")


def parse_answers(text: str) -> Answers:
    """Read what guest/witnesses.py printed."""
    answers: Answers = json.loads(text)
    return answers
