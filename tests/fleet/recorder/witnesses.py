# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Compares facts with the answers of the tools. A tool that does not say something is no difference."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.pod import topo

from . import tools

Facts = Mapping[str, Any]
_IBSTAT_STATES = {"Down": "DOWN", "Initializing": "INIT", "Armed": "ARMED", "Active": "ACTIVE"}
_NVIDIA = "10de"


def _differ(what: str, facts: Any, tool: str, said: Any) -> Iterator[str]:
    if said is not None and facts != said:
        yield f"{what}: facts say {facts!r}, {tool} says {said!r}"


def _functions(facts: Facts) -> Iterator[Tuple[str, Mapping[str, Any], Optional[Mapping[str, Any]]]]:
    """Name, PCI function and link of each GPU and HCA."""
    for gpu in facts.get("gpus", ()):
        yield f"GPU {gpu['index']}", gpu["pci"], None
    for hca in facts.get("hcas", ()):
        if hca["pci"]:
            yield f"HCA {hca['name']}", hca["pci"], hca["pcie_link"]


def lspci(facts: Facts, text: str) -> Iterator[str]:
    said = tools.lspci(text)
    for name, pci, link in _functions(facts):
        what = f"{name} at {pci['address']}"
        one = said.get(pci["address"])
        if one is None:
            yield f"{what}: lspci does not list it"
            continue
        yield from _differ(
            f"{what}, vendor and device",
            f"{pci['vendor_id']}:{pci['device_id']}",
            "lspci",
            f"{one.vendor}:{one.device}",
        )
        yield from _differ(f"{what}, driver", pci["driver"], "lspci", one.driver)
        yield from _differ(f"{what}, NUMA node", pci["numa_node"], "lspci", one.numa_node)
        if link and one.width:
            yield from _differ(f"{what}, link speed in GT/s", link["speed_gts"], "lspci", one.speed_gts)
            yield from _differ(f"{what}, link width", link["width"], "lspci", one.width)
    for address, redirects in facts.get("system", {}).get("acs", {}).items():
        if redirects is not None and address in said:
            yield from _differ(f"bridge {address}, ACS redirects", redirects, "lspci", said[address].acs)


def topology(facts: Facts, text: str) -> Iterator[str]:
    """Path classes and NUMA nodes. nvidia-smi counts its vendor's GPUs, in the order of PCI addresses, as facts do."""
    rows, nodes = topo.matrix(text), tools.numa_affinity(text)
    own = {gpu["index"]: gpu["pci"] for gpu in facts.get("gpus", ()) if gpu["pci"]["vendor_id"] == _NVIDIA}
    software = {hca["name"] for hca in facts.get("hcas", ()) if hca["software"] or hca["subdevice"]}
    entries = [entry for entry in facts.get("affinity", ()) if entry["gpu"] in own]
    tool = "nvidia-smi topo -m"
    if len(rows) != len(entries):
        yield f"GPUs: facts have {len(entries)}, {tool} has {len(rows)}"
        return
    for entry, row in zip(entries, rows):
        what = f"GPU {entry['gpu']} at {entry['address']}"
        for hca in dict.fromkeys([*entry["paths"], *row]):
            if hca not in row and hca in software:
                continue
            if hca not in row or hca not in entry["paths"]:
                yield f"{what} to {hca}: no path in {'facts' if hca in row else tool}"
            else:
                yield from _differ(f"{what} to {hca}", entry["paths"][hca], tool, row[hca])
    for entry, node in zip(entries, nodes):
        yield from _differ(f"GPU {entry['gpu']}, NUMA node", own[entry["gpu"]]["numa_node"], tool, node)


def gpus(facts: Facts, text: str) -> Iterator[str]:
    said = tools.gpus(text)
    own = [gpu for gpu in facts.get("gpus", ()) if gpu["pci"]["vendor_id"] == _NVIDIA]
    yield from _differ("NVIDIA GPUs", [gpu["pci"]["address"] for gpu in own], "nvidia-smi", list(said))
    for gpu in own:
        one = said.get(gpu["pci"]["address"], {})
        yield from _differ(f"GPU {gpu['index']}, model", gpu["model"], "nvidia-smi", one.get("name"))
        yield from _differ(f"GPU {gpu['index']}, UUID", gpu["uuid"], "nvidia-smi", one.get("uuid"))


def rdma_dev(facts: Facts, text: str) -> Iterator[str]:
    said = {entry["ifname"]: entry for entry in tools.rdma(text)}
    own = {hca["name"]: hca for hca in facts.get("hcas", ())}
    yield from _differ("HCAs", sorted(own), "rdma dev", sorted(said))
    for name in sorted({*own} & {*said}):
        for fact, field in (("node_guid", "node_guid"), ("firmware", "fw")):
            yield from _differ(f"HCA {name}, {field}", own[name][fact], "rdma dev", said[name].get(field))


def _ports(facts: Facts) -> Dict[Tuple[str, int], Mapping[str, Any]]:
    return {(hca["name"], port["number"]): port for hca in facts.get("hcas", ()) for port in hca["ports"]}


def rdma_link(facts: Facts, text: str) -> Iterator[str]:
    said = {(entry["ifname"], entry["port"]): entry for entry in tools.rdma(text)}
    own = _ports(facts)
    yield from _differ("ports", sorted(own), "rdma link", sorted(said))
    for key in sorted({*own} & {*said}):
        what, port, one = f"port {key[0]}/{key[1]}", own[key], said[key]
        yield from _differ(f"{what}, state", port["state"], "rdma link", one.get("state"))
        # LinkUp in sysfs, LINK_UP in netlink.
        physical = one.get("physical_state", "").replace("_", "").lower() or None
        yield from _differ(f"{what}, physical state", (port["physical_state"] or "").lower(), "rdma link", physical)
        for field in ("lid", "sm_lid"):
            yield from _differ(f"{what}, {field}", port[field], "rdma link", one.get(field))
        netdev = port["netdev"]["name"] if port["netdev"] else None
        yield from _differ(f"{what}, netdev", netdev, "rdma link", one.get("netdev"))


def rdma_system(facts: Facts, text: str) -> Iterator[str]:
    for entry in tools.rdma(text):
        mode = facts.get("system", {}).get("netns_mode")
        yield from _differ("RDMA netns mode", mode, "rdma system", entry.get("netns"))


def _guid(text: Optional[str]) -> Optional[str]:
    digits = f"{int(text, 16):016x}" if text else ""
    return ":".join(digits[at : at + 4] for at in range(0, 16, 4)) if digits else None


def ibstat(facts: Facts, text: str) -> Iterator[str]:
    hcas, own = {hca["name"]: hca for hca in facts.get("hcas", ())}, _ports(facts)
    said = {(port.hca, port.number): port for port in tools.ibstat(text)}
    yield from _differ("ports", sorted(own), "ibstat", sorted(said))
    for key in sorted({*own} & {*said}):
        what, port, hca, one = f"port {key[0]}/{key[1]}", own[key], hcas[key[0]], said[key]
        values = one.values
        state = _IBSTAT_STATES.get(values.get("State", ""), values.get("State"))
        yield from _differ(f"{what}, state", port["state"], "ibstat", state)
        yield from _differ(f"{what}, physical state", port["physical_state"], "ibstat", values.get("Physical state"))
        yield from _differ(f"{what}, link layer", port["link_layer"], "ibstat", values.get("Link layer"))
        rate = port["rate_gbps"]
        # It prints whole numbers, except 2.5; what follows is the name of a signalling.
        said_rate = values.get("Rate", "").split(" ")[0] or None
        own_rate = rate and (f"{rate:g}" if rate < 5 else str(int(rate)))
        yield from _differ(f"{what}, rate in Gb/s", own_rate, "ibstat", said_rate)
        yield from _differ(f"{what}, LID", str(port["lid"]), "ibstat", values.get("Base lid"))
        yield from _differ(f"{what}, LID of the subnet manager", str(port["sm_lid"]), "ibstat", values.get("SM lid"))
        yield from _differ(f"{what}, firmware", hca["firmware"], "ibstat", one.of_hca.get("Firmware version") or None)
        yield from _differ(f"{what}, node GUID", hca["node_guid"], "ibstat", _guid(one.of_hca.get("Node GUID")))
        if port["link_layer"] == "InfiniBand" and port["gids"]:
            lower = port["gids"][0]["gid"].split(":", 4)[-1]
            yield from _differ(f"{what}, GUID in its first GID", lower, "ibstat", _guid(values.get("Port GUID")))


_WITNESSES: Dict[str, Callable[[Facts, str], Iterator[str]]] = {
    "lspci": lspci,
    "nvidia-smi-topo": topology,
    "nvidia-smi-gpus": gpus,
    "rdma-dev": rdma_dev,
    "rdma-link": rdma_link,
    "rdma-system": rdma_system,
    "ibstat": ibstat,
}


def differences(facts: Facts, answers: Mapping[str, tools.Answer]) -> Tuple[List[str], List[str]]:
    """Where facts and a tool disagree, and which tools did not answer and why."""
    found, silent = [], []
    for name, witness in _WITNESSES.items():
        answer = answers[name]
        command = " ".join(tools.COMMANDS[name])
        if answer.text is None:
            silent.append(f"{command}: {answer.problem}")
            continue
        try:
            found += list(witness(facts, answer.text))
        except (ValueError, KeyError, TypeError) as error:
            found.append(f"{command}: its answer could not be understood ({type(error).__name__}: {error})")
    return found, silent
