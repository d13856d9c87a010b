# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Facts beside what lspci, nvidia-smi, rdma and ibstat say (``tests/fleet/recorder/witnesses.py``).

``fixtures/record`` has answers of the real lspci and ibstat about a synthesised node. Those of nvidia-smi and rdma are
written here, see its README.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import record
from recorder import compare, tools, witnesses

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.tests.unit.fleet import topology_tree

assert record
RECORDED = Path(__file__).parents[1] / "fixtures/record"
NODE = "case-acs"
LSPCI, IBSTAT = ((RECORDED / f"{name}.txt").read_text() for name in ("lspci", "ibstat"))
CASES = sorted(path.stem for path in topology_tree.CASES.glob("*.yml") if topology_tree.load(path.stem)["matrix"])


@pytest.fixture(name="facts")
def make_facts(facts_of: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return copy.deepcopy(facts_of(NODE))


def function(facts: dict[str, Any], address: str) -> dict[str, Any]:
    every = [gpu["pci"] for gpu in facts["gpus"]] + [hca["pci"] for hca in facts["hcas"]]
    found: dict[str, Any] = next(pci for pci in every if pci["address"] == address)
    return found


def test_what_lspci_says_is_what_facts_say(facts: dict[str, Any]) -> None:
    assert list(witnesses.lspci(facts, LSPCI)) == []
    # It did say something.
    said = tools.lspci(LSPCI)
    hca = facts["hcas"][0]
    one = said[hca["pci"]["address"]]
    assert (one.vendor, one.device, one.driver, one.speed_gts, one.width) == ("15b3", "1017", "mlx5_core", 8.0, 16)
    assert {said[address].acs for address in facts["system"]["acs"]} == {True}


def test_each_thing_that_lspci_says_otherwise_is_named(facts: dict[str, Any]) -> None:
    hca = facts["hcas"][0]
    place = f"HCA mlx5_0 at {hca['pci']['address']}"
    hca["pci"].update(device_id="1019", driver="vfio-pci", numa_node=1)
    hca["pcie_link"].update(speed_gts=16.0, width=8)
    (first, *_others) = facts["system"]["acs"]
    facts["system"]["acs"][first] = False
    gone = facts["gpus"][0]["pci"]["address"]
    text = LSPCI.replace(gone, "0000:ee:00.0")
    assert list(witnesses.lspci(facts, text)) == [
        f"GPU 0 at {gone}: lspci does not list it",
        f"{place}, vendor and device: facts say '15b3:1019', lspci says '15b3:1017'",
        f"{place}, driver: facts say 'vfio-pci', lspci says 'mlx5_core'",
        f"{place}, NUMA node: facts say 1, lspci says 0",
        f"{place}, link speed in GT/s: facts say 16.0, lspci says 8.0",
        f"{place}, link width: facts say 8, lspci says 16",
        f"bridge {first}, ACS redirects: facts say False, lspci says True",
    ]


def test_without_root_lspci_says_less_and_nothing_differs(facts: dict[str, Any]) -> None:
    text = "".join(line + "\n" for line in LSPCI.splitlines() if "Lnk" not in line and "ACSCtl" not in line)
    assert list(witnesses.lspci(facts, text)) == []


def test_what_ibstat_says_is_what_facts_say(facts: dict[str, Any]) -> None:
    assert list(witnesses.ibstat(facts, IBSTAT)) == []
    assert [(port.hca, port.number) for port in tools.ibstat(IBSTAT)] == [("mlx5_0", 1), ("mlx5_1", 1)]


def test_each_thing_that_ibstat_says_otherwise_is_named(facts: dict[str, Any]) -> None:
    text = IBSTAT.replace("State: Active", "State: Initializing", 1).replace("Rate: 100", "Rate: 40 (FDR10)", 1)
    text = text.replace("Firmware version: 16.35.2000", "Firmware version: 16.35.2001", 1)
    text = text.replace("Physical state: LinkUp", "Physical state: Polling", 1)
    lid, guid = facts["hcas"][0]["ports"][0]["lid"], facts["hcas"][0]["node_guid"].replace(":", "")
    text = text.replace(f"Base lid: {lid}\n", "Base lid: 9\n").replace(f"Port GUID: 0x{guid}", f"Port GUID: 0x{1:016x}")
    guid = facts["hcas"][0]["node_guid"]
    assert list(witnesses.ibstat(facts, text.replace("CA 'mlx5_1'", "CA 'mlx5_7'"))) == [
        "ports: facts say [('mlx5_0', 1), ('mlx5_1', 1)], ibstat says [('mlx5_0', 1), ('mlx5_7', 1)]",
        "port mlx5_0/1, state: facts say 'ACTIVE', ibstat says 'INIT'",
        "port mlx5_0/1, physical state: facts say 'LinkUp', ibstat says 'Polling'",
        "port mlx5_0/1, rate in Gb/s: facts say '100', ibstat says '40'",
        f"port mlx5_0/1, LID: facts say '{lid}', ibstat says '9'",
        "port mlx5_0/1, firmware: facts say '16.35.2000', ibstat says '16.35.2001'",
        f"port mlx5_0/1, GUID in its first GID: facts say '{guid}', ibstat says '0000:0000:0000:0001'",
    ]


def rdma_answers(facts: dict[str, Any], old: bool = False) -> dict[str, tools.Answer]:
    """As iproute2 prints; before 5.1 (``old``), the number of the port was in its name."""
    devices, links = [], []
    for index, hca in enumerate(facts["hcas"]):
        own = {"ifindex": index, "ifname": hca["name"]}
        devices.append({**own, "node_type": "ca", "fw": hca["firmware"], "node_guid": hca["node_guid"]})
        for port in hca["ports"]:
            number = port["number"]
            link = {**own, "port": number, "ifname": f"{hca['name']}/{number}" if old else hca["name"]}
            link.update(subnet_prefix="fe80:0000:0000:0000", lid=port["lid"], sm_lid=port["sm_lid"], lmc=0)
            link.update(state=port["state"], physical_state="LINK_UP", netdev=port["netdev"]["name"], netdev_index=5)
            links.append(link)
    answers = {"rdma-dev": devices, "rdma-link": links, "rdma-system": [{"netns": "shared"}]}
    silent = dict.fromkeys(tools.COMMANDS, tools.Answer(problem="not installed"))
    return {**silent, **{name: tools.Answer(json.dumps(answer)) for name, answer in answers.items()}}


@pytest.mark.parametrize("old", [False, True])
def test_what_rdma_says_is_what_facts_say(facts: dict[str, Any], old: bool) -> None:
    found, silent = witnesses.differences(facts, rdma_answers(facts, old))
    assert found == []
    assert silent[0] == "lspci -Dnnvv: not installed"
    assert len(silent) == 4


def test_each_thing_that_rdma_says_otherwise_is_named(facts: dict[str, Any]) -> None:
    answers = rdma_answers(facts)
    port = facts["hcas"][0]["ports"][0]
    port.update(state="DOWN", physical_state="Polling", lid=7)
    name = port["netdev"]["name"]
    port["netdev"]["name"] = "ib7"
    facts["hcas"][1]["firmware"] = "1.2.3"
    facts["system"]["netns_mode"] = "exclusive"
    lid = json.loads(answers["rdma-link"].text or "")[0]["lid"]
    assert witnesses.differences(facts, answers)[0] == [
        "HCA mlx5_1, fw: facts say '1.2.3', rdma dev says '16.35.2000'",
        "port mlx5_0/1, state: facts say 'DOWN', rdma link says 'ACTIVE'",
        "port mlx5_0/1, physical state: facts say 'polling', rdma link says 'linkup'",
        f"port mlx5_0/1, lid: facts say 7, rdma link says {lid}",
        f"port mlx5_0/1, netdev: facts say 'ib7', rdma link says {name!r}",
        "RDMA netns mode: facts say 'exclusive', rdma system says 'shared'",
    ]
    del facts["hcas"][1]
    assert "HCAs: facts say ['mlx5_0'], rdma dev says ['mlx5_0', 'mlx5_1']" in witnesses.differences(facts, answers)[0]
    answers["rdma-dev"] = tools.Answer("no JSON")
    (found,) = [line for line in witnesses.differences(facts, answers)[0] if "understood" in line]
    assert found.startswith("rdma -j dev show: its answer could not be understood (JSONDecodeError")


def topo(described: dict[str, Any], nodes: list[str]) -> str:
    """The matrix of a published topology as ``nvidia-smi topo -m`` prints it, with other cells that do not matter."""
    nics = [f"NIC{number}" for number in range(len(described["columns"]))]
    rows = [row.split() for row in described["matrix"]]
    gpus = [f"GPU{number}" for number in range(len(rows))]
    heading = ["", *gpus, *nics, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    lines = ["\x1b[4m" + "\t".join(heading) + "\x1b[0m"]
    for gpu, row, node in zip(gpus, rows, nodes, strict=True):
        others = [" X " if other == gpu else "NV18" for other in gpus]
        lines.append("\t".join([gpu, *others, *row, "0-47", node, "", "N/A"]))
    legend = [f"  {nic}: {hca}" for nic, hca in zip(nics, described["columns"], strict=True)]
    return "\n".join([*lines, "", "NIC Legend:", "", *legend, ""])


def of_nvidia(name: str, root: Path) -> tuple[dict[str, Any], str]:
    """Facts of a published machine, whose GPUs are taken for NVIDIA's, and what nvidia-smi says there."""
    facts = gather.gather(str(topology_tree.write(name, root).root), gather.GatherOptions(gpu_vendors=("10de", "1d94")))
    for gpu in facts["gpus"]:
        gpu["pci"]["vendor_id"] = "10de"
    nodes = ["N/A" if gpu["pci"]["numa_node"] is None else str(gpu["pci"]["numa_node"]) for gpu in facts["gpus"]]
    return facts, topo(topology_tree.load(name), nodes)


@pytest.mark.parametrize("name", CASES)
def test_published_matrices_are_those_of_facts(tmp_path: Path, name: str) -> None:
    facts, text = of_nvidia(name, tmp_path)
    assert facts["affinity"]
    assert [line for line in witnesses.topology(facts, text) if "no path in" not in line] == []


def test_each_cell_that_differs_is_named(tmp_path: Path) -> None:
    facts, text = of_nvidia("epyc-flat", tmp_path)
    assert list(witnesses.topology(facts, text)) == []
    address = facts["affinity"][1]["address"]
    facts["affinity"][1]["paths"]["rocep13s0f0"] = "PHB"
    facts["gpus"][3]["pci"]["numa_node"] = 0
    del facts["affinity"][0]["paths"]["rocep55s0f0"]
    facts["affinity"][0]["paths"]["rxe0"] = facts["affinity"][0]["paths"]["mlx5_9"] = "SYS"
    software = {"name": "rxe0", "software": True, "subdevice": None, "ports": [], "pci": None}
    facts["hcas"].append(software)
    assert list(witnesses.topology(facts, text)) == [
        f"GPU 0 at {facts['affinity'][0]['address']} to mlx5_9: no path in nvidia-smi topo -m",
        f"GPU 0 at {facts['affinity'][0]['address']} to rocep55s0f0: no path in facts",
        f"GPU 1 at {address} to rocep13s0f0: facts say 'PHB', nvidia-smi topo -m says 'NODE'",
        "GPU 3, NUMA node: facts say 0, nvidia-smi topo -m says 1",
    ]
    del facts["affinity"][0]
    assert list(witnesses.topology(facts, text)) == ["GPUs: facts have 3, nvidia-smi topo -m has 4"]


def test_gpus_of_nvidia_smi(facts: dict[str, Any]) -> None:
    lines = []
    for gpu in facts["gpus"]:
        lines.append(f"0000{gpu['pci']['address'].upper()}, {gpu['model']}, {gpu['uuid']}")
    assert list(witnesses.gpus(facts, "\n".join(lines))) == []
    (first, *_others) = facts["gpus"]
    lines[0] = lines[0].replace(first["uuid"], "GPU-0")
    assert list(witnesses.gpus(facts, "\n".join(lines))) == [
        f"GPU 0, UUID: facts say {first['uuid']!r}, nvidia-smi says 'GPU-0'"
    ]
    (found,) = witnesses.gpus({"gpus": [first]}, "\n".join(lines[1:2]))
    assert found.startswith(f"NVIDIA GPUs: facts say ['{first['pci']['address']}'], nvidia-smi says [")


def test_what_only_a_machine_has_is_a_limit_and_all_else_a_difference(facts: dict[str, Any]) -> None:
    recording = copy.deepcopy(facts)
    port = facts["hcas"][0]["ports"][0]
    facts["sources"]["addresses"] = "netlink"
    port["max_rate_gbps"] = 100.0
    port["netdev"].update(max_mtu=9978, routes=[{"to": "192.0.2.0/24", "table": 254, "source": None}])
    recording["hcas"][0]["ports"][0]["error_counters"]["symbol_error"] = 9
    port["error_counters"]["symbol_error"] = 5
    facts["hcas"][1]["ports"][0]["lid"] = 77
    found = compare.facts(facts, recording)
    assert [str(one) for one in found if not one.limit] == [
        f"hcas.mlx5_1.ports.1.lid: 77 on the machine, {recording['hcas'][1]['ports'][0]['lid']} in the recording"
    ]
    assert {one.limit for one in found if one.limit} == {
        "netlink is not recorded",
        "only netlink tells",
        "it grew while the machine was recorded",
    }
    port["error_counters"]["symbol_error"] = 50
    assert any(not one.limit and "symbol_error" in one.path for one in compare.facts(facts, recording))


def test_a_tool_that_is_not_there_or_fails_says_why(tmp_path: Path) -> None:
    assert tools.run([str(tmp_path / "nothing")]).problem == "not installed"
    assert tools.run(["sh", "-c", "echo first >&2; echo last >&2; exit 3"]).problem == "exit status 3: last"
    assert tools.run(["sh", "-c", "echo $LC_ALL"]).text == "C\n"
