# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The links of recorded nodes: which port is which rail, and what the module is asked for."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest
from ansible.errors import AnsibleFilterError
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVarsVars

from ansible_collections.zerocopy.rdma.plugins.filter.links import links as links_filter
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import host_links, vfs
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import ports as links_ports
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import guid
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError

Facts = Callable[..., dict[str, Any]]


def plan(facts: dict[str, Any], host: str = "n7", **wanted: Any) -> host_links.LinkPlan:
    return host_links.plan(host, {f"rdma_links_{name}": value for name, value in wanted.items()}, read.facts(facts))


def rails(found: host_links.LinkPlan) -> dict[str, str]:
    return {link["name"][-1]: f"{link['hca']}/{link['port']}" for link in found.links}


def changed(facts: dict[str, Any], hca: str, reasons: list[str], **port: Any) -> dict[str, Any]:
    """Facts in which a port has other reasons against it, and other values."""
    result = copy.deepcopy(facts)
    for kind in ("usable", "excluded"):
        result[kind] = [entry for entry in result[kind] if entry["hca"] != hca]
    why = [{"code": code, "text": code} for code in reasons]
    result["excluded"].append({"hca": hca, "port": 1, "reasons": why})
    next(entry for entry in result["hcas"] if entry["name"] == hca)["ports"][0].update(port)
    return result


def without(facts: dict[str, Any], hca: str) -> dict[str, Any]:
    """Facts of a node whose HCA has died."""
    result = copy.deepcopy(facts)
    for kind in ("usable", "excluded"):
        result[kind] = [entry for entry in result[kind] if entry["hca"] != hca]
    result["hcas"] = [entry for entry in result["hcas"] if entry["name"] != hca]
    return result


def with_addresses(facts: dict[str, Any], found: host_links.LinkPlan) -> dict[str, Any]:
    """Facts of the node after its links were made."""
    result = copy.deepcopy(facts)
    for link in found.links:
        hca = next(entry for entry in result["hcas"] if entry["name"] == link["hca"])
        hca["ports"][0]["netdev"]["addresses"] = list(link["addresses"])
    return result


def test_nothing_is_planned_where_nothing_is_asked_for(facts_of: Facts) -> None:
    assert plan(facts_of("v100-01"), vlan=7, transport_mode=None) == host_links.LinkPlan()


def test_rails_are_in_pci_order(facts_of: Facts) -> None:
    # As numbers: 1d, 3f, 50, 61, 9f, bf, cf and df. Equal nodes with other bus numbers have the same rails then.
    found = plan(facts_of("case-h100-roce"), subnet="10.0.0.0/16", rails=8)
    assert rails(found) == {str(number): f"mlx5_{number}/1" for number in range(8)}


LAYER = "rdma_discover_expect_link_layer"


@pytest.mark.parametrize("unplugged", [None, "mlx5_8"])
def test_a_storage_network_is_no_rail(facts_of: Facts, unplugged: str | None) -> None:
    facts = facts_of("case-b200")
    if unplugged:
        facts = changed(facts, unplugged, ["port_down"], state="DOWN")
    values = {"rdma_links_rails": 8, "rdma_links_subnet": "10.0.0.0/16", LAYER: "InfiniBand"}
    found = links_ports.rails_of([], links_ports.ports(read.facts(facts)), 8, {}, False, "InfiniBand")
    of_gpus = [4, 7, 8, 9, 10, 13, 14, 15]
    assert {rail: port.hca for rail, port in found.items()} == {
        rail: f"mlx5_{number}" for rail, number in enumerate(of_gpus)
    }
    assert host_links.problems("n7", values, read.facts(facts)) == []
    assert host_links.plan("n7", values, read.facts(facts)).links == []
    # Who names one means it.
    named = host_links.plan("n7", {**values, "rdma_links_ports": [{"hca": "mlx5_11"}]}, read.facts(facts))
    assert rails(named) == {"0": "mlx5_11/1"}


def test_rails_of_one_link_layer_are_not_chosen_among_both(facts_of: Facts) -> None:
    (told,) = refused(facts_of("case-b200"), rails=8, subnet="10.0.0.0/16")
    assert told == (
        f"{LAYER} is not set, but this node has ports of Ethernet and InfiniBand, and more than 8 rails: set it to the "
        "link layer of the RDMA links, or name their ports in rdma_links_ports"
    )
    assert refused(facts_of("case-b200"), rails=8, subnet="10.0.0.0/16", ports=[{"hca": "mlx5_4"}]) == []
    # With a rail for each port, there is no choice; a port without a link is none where others have one.
    assert refused(facts_of("case-two-ports"), rails=2, subnet="10.0.0.0/16") == []
    assert len(refused(facts_of("case-two-ports"), rails=1, subnet="10.0.0.0/16")) == 1
    down = copy.deepcopy(facts_of("case-two-ports"))
    gone = next(entry for entry in down["usable"] if entry["port"] == 2)
    down["usable"].remove(gone)
    down["excluded"].append({**gone, "reasons": [{"code": "port_down", "text": "port_down"}]})
    assert refused(down, rails=1, subnet="10.0.0.0/16") == []
    # A port in a pod comes back: the other one must not become the rail meanwhile.
    down["excluded"][-1]["reasons"].append({"code": "in_pod", "text": "in_pod"})
    assert len(refused(down, rails=1, subnet="10.0.0.0/16")) == 1


def test_a_node_without_the_link_layer_of_its_group_is_told(facts_of: Facts) -> None:
    values = {"rdma_links_subnet": "10.0.0.0/24", LAYER: "InfiniBand"}
    (told,) = host_links.problems("n7", values, read.facts(facts_of("lab-01")))
    assert told.text == (
        "is '10.0.0.0/24', but no port of this node can be an RDMA link "
        f"(mlx5_0/1: Ethernet, but {LAYER} is InfiniBand)"
    )


@pytest.mark.parametrize(("name", "hca"), [("a100-01", "mlx5_1"), ("a100-02", "mlx5_0")])
def test_one_rail_is_the_port_with_the_cable(facts_of: Facts, name: str, hca: str) -> None:
    assert plan(facts_of(name), name, subnet="10.0.0.0/24").links == [
        {
            "name": "rdma-rail0",
            "hca": hca,
            "port": 1,
            "type": "infiniband",
            "addresses": [f"10.0.0.{name[-1]}/24"],
        }
    ]


def test_two_rails_are_both_ports_in_pci_order_also_without_cable(facts_of: Facts) -> None:
    assert rails(plan(facts_of("a100-01"), subnet="10.0.0.0/24", rails=2)) == {"0": "mlx5_0/1", "1": "mlx5_1/1"}


def test_which_ports_are_up_decides_before_their_order(facts_of: Facts) -> None:
    facts = changed(facts_of("h100-03"), "mlx5_1", ["port_down"])
    assert rails(plan(facts, subnet="10.0.0.0/24", rails=2)) == {"0": "mlx5_0/1", "1": "mlx5_2/1"}
    # In a pod means up, as far as the host can tell.
    facts = changed(facts, "mlx5_0", ["in_pod"], netdev=None)
    assert rails(plan(facts, subnet="10.0.0.0/24", rails=2)) == {"0": "mlx5_0/1", "1": "mlx5_2/1"}


def test_pci_order_is_not_the_order_of_names(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    first, second = facts["hcas"]
    first["pci"]["address"], second["pci"]["address"] = second["pci"]["address"], first["pci"]["address"]
    assert rails(plan(facts, subnet="10.0.0.0/24", rails=2)) == {"0": "mlx5_1/1", "1": "mlx5_0/1"}


def test_a_nic_that_died_moves_no_other_rail(facts_of: Facts) -> None:
    subnets = [f"10.0.{rail}.0/24" for rail in range(4)]
    before = plan(facts_of("h100-03"), rail_subnets=subnets)
    after = plan(without(with_addresses(facts_of("h100-03"), before), "mlx5_1"), rail_subnets=subnets)
    assert rails(before) == {"0": "mlx5_0/1", "1": "mlx5_1/1", "2": "mlx5_2/1", "3": "mlx5_3/1"}
    assert rails(after) == {"0": "mlx5_0/1", "2": "mlx5_2/1", "3": "mlx5_3/1"}
    assert len(after.warnings) == 1
    assert "3 ports for 4 rails, so there is none for rail 1" in after.warnings[0]


def test_soft_roce_in_a_pod_moves_no_other_rail(facts_of: Facts) -> None:
    subnets = [f"10.0.{rail}.0/24" for rail in range(4)]
    before = plan(facts_of("h100-03"), rail_subnets=subnets)
    gids = [{"index": 1, "gid": "::ffff:10.0.0.3", "type": "RoCE v2", "netdev": None}]
    facts = changed(with_addresses(facts_of("h100-03"), before), "mlx5_0", ["in_pod"], netdev=None, gids=gids)
    # Its PCI function is that of the netdev, which is gone.
    facts["hcas"][0].update(software=True, pci=None)
    assert rails(plan(facts, rail_subnets=subnets)) == rails(before)


def test_more_rails_than_ports_is_a_warning(facts_of: Facts) -> None:
    found = plan(facts_of("lab-01"), subnet="10.0.0.0/24", rails=4)
    assert rails(found) == {"0": "mlx5_0/1"}
    assert "none for rail 1-3" in found.warnings[0]


@pytest.mark.parametrize(
    ("variable", "wanted"),
    [
        ("rdma_links_rail_subnets", {"rail_subnets": ["10.0.0.0/24", "10.0.1.0/24"]}),
        ("rdma_links_rails", {"subnet": "10.0.0.0/24", "rails": 2}),
    ],
)
def test_fewer_rails_than_ports_is_a_warning(facts_of: Facts, variable: str, wanted: dict[str, Any]) -> None:
    told = "4 ports for 2 rails, so these get no address: mlx5_2/1, mlx5_3/1"
    right = f"raise {variable}, or name the ports of all rails in rdma_links_ports"
    assert plan(facts_of("h100-03"), **wanted).warnings == [f"{told}; {right}"]
    chosen = [{"hca": "mlx5_0"}, {"hca": "mlx5_1"}]
    assert plan(facts_of("h100-03"), ports=chosen, **wanted).warnings == []
    # Without a cable nothing is lost.
    facts = changed(changed(facts_of("h100-03"), "mlx5_1", ["port_down"]), "mlx5_0", ["port_down"])
    assert plan(facts, **wanted).warnings == []


def test_ports_beyond_the_only_rail_are_not_set_up(facts_of: Facts) -> None:
    (told,) = plan(facts_of("h100-03"), mtu=2044).warnings
    assert told.startswith(
        "4 ports for 1 rail, so these are not set up: mlx5_1/1, mlx5_2/1, mlx5_3/1; raise rdma_links"
    )


def test_infiniband_without_ipoib_has_nothing_to_configure(facts_of: Facts) -> None:
    found = plan(facts_of("h100-01"), subnet="10.0.0.0/16", rails=8)
    assert found.links == []
    assert len(found.warnings) == 1
    assert "mlx5_0/1, mlx5_1/1" in found.warnings[0]


def test_rails_in_one_subnet_have_a_table_each(facts_of: Facts) -> None:
    shared = plan(facts_of("case-amd"), subnet="10.0.0.0/16", rails=8, mtu=9000)
    assert [link["rail_table"] for link in shared.links] == list(range(100, 108))
    assert [link["addresses"] for link in shared.links[:2]] == [["10.0.0.7/16"], ["10.0.32.7/16"]]
    assert {link["mtu"] for link in shared.links} == {9000}
    apart = plan(facts_of("case-amd"), rail_subnets=[f"10.0.{rail}.0/24" for rail in range(8)])
    assert all("rail_table" not in link for link in apart.links)
    explicit = plan(facts_of("v100-01"), rails=2, addresses={0: "10.0.0.1/24", 1: "10.0.0.2/24"})
    assert [link["rail_table"] for link in explicit.links] == [100, 101]


def test_addresses_are_on_the_vlan_or_the_first_partition(facts_of: Facts) -> None:
    assert plan(facts_of("lab-01"), subnet="10.0.0.0/24", vlan=7, mtu=9000).links == [
        {
            "name": "rdma-rail0",
            "hca": "mlx5_0",
            "port": 1,
            "type": "ethernet",
            "mtu": 9000,
            "vlans": [{"id": 7, "mtu": 9000, "addresses": ["10.0.0.7/24"]}],
        }
    ]
    found = plan(facts_of("a100-01"), subnet="10.0.0.0/24", pkeys=["0x0001", "0x8002"], transport_mode="connected")
    assert found.links[0]["transport_mode"] == "connected"
    assert found.links[0]["pkeys"] == [
        {"pkey": "0x8001", "addresses": ["10.0.0.7/24"]},
        {"pkey": "0x8002", "addresses": []},
    ]
    assert [warning.split(" (")[0] for warning in found.warnings] == [
        "not in partition 0x8001 yet",
        "not in partition 0x8002 yet",
    ]


def test_mtu_alone_is_a_link_without_address(facts_of: Facts) -> None:
    assert plan(facts_of("lab-01"), mtu=9000).links == [
        {"name": "rdma-rail0", "hca": "mlx5_0", "port": 1, "type": "ethernet", "mtu": 9000}
    ]


@pytest.mark.parametrize(
    ("name", "selector", "port"),
    [
        ("v100-01", {"hca": "mlx5_1"}, "mlx5_1/1"),
        ("v100-01", {"pci": "8A:00.0"}, "mlx5_1/1"),
        ("a100-01", {"hca": "mlx5_0"}, "mlx5_0/1"),
        ("case-two-ports", {"hca": "mlx4_0", "port": 2}, "mlx4_0/2"),
        ("case-two-ports", {"mac": "B8-59-9F-99-1F-F8"}, "mlx4_0/2"),
        ("case-two-ports", {"mac": "00:00:00:00:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:99:1f:f7"}, "mlx4_0/1"),
        # A pod has the netdev, but the GIDs still show its MAC address.
        ("case-in-pod", {"mac": "b8:59:9f:3b:2b:89"}, "mlx5_0/1"),
    ],
)
def test_a_port_can_be_named(facts_of: Facts, name: str, selector: dict[str, Any], port: str) -> None:
    found = plan(facts_of(name), subnet="10.0.0.0/24", ports=[selector])
    assert rails(found) == {"0": port}


@pytest.mark.parametrize(
    "selector", [{"hca": "mlx5_8", "port": 1}, {"pci": "0000:66:00.0"}, {"mac": "b8:59:9f:00:00:01"}]
)
def test_in_netns_mode_exclusive_a_named_port_may_be_away(facts_of: Facts, selector: dict[str, Any]) -> None:
    facts = copy.deepcopy(facts_of("case-nothing"))
    facts["system"]["netns_mode"] = "exclusive"
    found = plan(facts, subnet="10.0.0.0/24", ports=[selector])
    assert found.links == [{"name": "rdma-rail0", **selector, "type": "auto", "addresses": ["10.0.0.7/24"]}]
    assert len(found.warnings) == 1
    with pytest.raises(PlanError, match="rdma_links_ports is not set, but rdma_links_subnet is"):
        plan(facts, subnet="10.0.0.0/24")
    facts["system"]["netns_mode"] = "shared"
    with pytest.raises(PlanError, match="which this node does not have: it has no RDMA device at all"):
        plan(facts, subnet="10.0.0.0/24", ports=[selector])


def test_vfs_are_left_to_their_pods(facts_of: Facts) -> None:
    found = plan(facts_of("case-vf"), unmanage_vfs=True)
    assert found == host_links.LinkPlan(unmanaged=[{"pci": "0000:5e:00.1"}, {"pci": "0000:5e:00.2"}])
    rail = plan(facts_of("case-vf"), mtu=9000, ports=[{"hca": "mlx5_0"}], unmanage_vfs=False)
    assert rails(rail) == {"0": "mlx5_0/1"}


def test_each_link_gets_its_vfs(facts_of: Facts) -> None:
    found = plan(facts_of("case-vf"), vfs=2, ports=[{"hca": "mlx5_0"}])
    link = {"name": "rdma-rail0", "hca": "mlx5_0", "port": 1, "type": "ethernet", "vfs": 2}
    rail = {"name": "0", "hca": "mlx5_0", "port": 1, "pci": "0000:5e:00.0"}
    assert found == host_links.LinkPlan(links=[link], rails=[rail])
    assert [request.parse([link])[0].vfs for link in found.links] == [2]
    none = plan(facts_of("case-vf"), vfs=0, mtu=9000, ports=[{"hca": "mlx5_0"}])
    assert ["vfs" in link for link in none.links] == [False]


def test_vfs_of_infiniband_get_guids_of_their_hca(facts_of: Facts) -> None:
    facts = facts_of("h100-03")
    nodes = {entry["name"]: entry["node_guid"] for entry in facts["hcas"]}
    own = ["02:00:00:00:00:00:00:01", "02:00:00:00:00:00:00:02", "02:00:00:00:00:00:00:03"]
    found = plan(facts, vfs=2, rails=4, vf_guids={"3": own})
    assert {link["hca"]: link["vf_guids"] for link in found.links} == {
        **{name: [guid.derived(nodes[name], number) for number in (0, 1)] for name in ("mlx5_0", "mlx5_1", "mlx5_2")},
        "mlx5_3": own[:2],
    }
    assert [link.vf_guids for link in request.parse(found.links)] == [tuple(link["vf_guids"]) for link in found.links]
    # In RDMA netns mode exclusive, a pod has the HCA as well: the module knows the GUIDs from earlier.
    exclusive = without(facts, "mlx5_0")
    exclusive["system"]["netns_mode"] = "exclusive"
    ports = [{"hca": "mlx5_0"}]
    assert [link.get("vf_guids") for link in plan(exclusive, vfs=1, ports=ports).links] == [None]
    given = plan(exclusive, vfs=1, ports=ports, vf_guids={0: own})
    assert [link["vf_guids"] for link in given.links] == [own[:1]]


def refused(facts: dict[str, Any], **wanted: Any) -> list[str]:
    values = {f"rdma_links_{name}": value for name, value in wanted.items()}
    return [f"{found.variable} {found.text}" for found in host_links.problems("n7", values, read.facts(facts))]


def test_vfs_that_cannot_have_guids(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("h100-03"))
    assert refused(facts, vfs=8) == []
    hca = facts["hcas"][0]
    hca["node_guid"] = "0000:0000:0000:0000"
    message = "but mlx5_0/1 has no node GUID to derive those of its VFs from: set rdma_links_vf_guids"
    assert refused(facts, vfs=1) == [f"rdma_links_vfs is 1, {message}"]
    assert refused(facts, vfs=1, vf_guids={0: ["02:00:00:00:00:00:00:01"]}) == []
    hca["driver"] = "mlx4_core"
    message = "but mlx5_0/1 is InfiniBand with mlx4_core: only mlx5_core can set GUIDs of VFs"
    assert refused(facts, vfs=1) == [f"rdma_links_vfs is 1, {message}"]
    ports = [{"hca": "mlx5_0"}]
    message = "has GUIDs for rail 0, but mlx5_0/1 is Ethernet: only InfiniBand VFs have GUIDs"
    found = refused(facts_of("case-vf"), vfs=1, ports=ports, vf_guids={0: ["02:00:00:00:00:00:00:01"]})
    assert found == [f"rdma_links_vf_guids {message}"]


def shared_guids(*hosts: tuple[str, dict[str, Any], bool], **wanted: Any) -> list[str]:
    values = {f"rdma_links_{name}": value for name, value in wanted.items()}
    known = [host_links.guid_host(name, values, read.facts(facts), chosen) for name, facts, chosen in hosts]
    return [f"{host}: {found.variable} {found.text}" for host, found in vfs.duplicates(known)]


def test_guids_of_vfs_are_unique_in_the_fleet(facts_of: Facts) -> None:
    first, other = facts_of("h100-03"), facts_of("a100-01")
    assert shared_guids(("n1", first, True), ("n2", other, True), vfs=4, rails=2) == []
    # Nodes of which one has the other's GUIDs, by mistake; told once for each node, however many they are.
    derived = guid.derived(first["hcas"][0]["node_guid"], 0)
    found = shared_guids(("n1", first, True), ("n2", first, False), vfs=4, rails=2)
    right = "set rdma_links_vf_guids so that they differ in the whole fabric"
    text = f"is not unique, {derived} would be that of VF 0 of rail 0 of n1 and VF 0 of rail 0 of n2: {right}"
    assert found == [f"{name}: rdma_links_vf_guids {text}" for name in ("n1", "n2")]
    assert shared_guids(("n1", first, False), ("n2", first, False), vfs=4, rails=2) == []
    # An HCA's own.
    taken = guid.read(other["hcas"][0]["node_guid"])
    name = other["hcas"][0]["name"]
    text = f"is not unique, {taken} would be that of VF 0 of rail 0 of n2 and {name} of n2: {right}"
    assert shared_guids(("n2", other, True), vfs=1, vf_guids={0: [taken]}) == [f"n2: rdma_links_vf_guids {text}"]


def test_a_vf_with_the_default_route_stays_managed(facts_of: Facts) -> None:
    facts = changed(facts_of("case-vf"), "mlx5_1", ["vf", "default_route"])
    assert plan(facts, unmanage_vfs=True).unmanaged == [{"pci": "0000:5e:00.2"}]


def test_a_driver_that_is_not_loaded_yet_is_no_mistake_of_the_inventory(facts_of: Facts) -> None:
    found = plan(facts_of("case-nothing"), subnet="10.0.0.0/24")
    assert found.links == []
    assert "0 ports for 1 rail" in found.warnings[0]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("case-amd", {"subnet": "10.0.0.0/16", "rails": 8, "mtu": 9000, "vlan": 7}),
        ("h100-03", {"subnet": "fd00::/64", "rails": 4, "mtu": 4092, "pkeys": ["0x0007"]}),
        ("v100-01", {"mtu": 65520, "transport_mode": "connected", "rails": 2}),
    ],
)
def test_the_module_takes_what_is_planned(facts_of: Facts, name: str, wanted: dict[str, Any]) -> None:
    found = plan(facts_of(name), **wanted)
    assert [link.name for link in request.parse(found.links)] == [link["name"] for link in found.links]


def hostvars(facts: dict[str, Any] | None, **variables: Any) -> dict[str, Any]:
    return {"inventory_hostname": "n7", "ansible_facts": {} if facts is None else {"rdma": facts}, **variables}


def test_filter(facts_of: Facts) -> None:
    own = hostvars(facts_of("a100-01"), rdma_links_subnet="10.0.0.0/24", rdma_links_rails="3", other="x")
    found = links_filter({}, own)
    assert [link["hca"] for link in found["links"]] == ["mlx5_0", "mlx5_1"]
    assert found["unmanaged"] == []
    assert links_filter({}, hostvars(None)) == {"links": [], "unmanaged": [], "qos": []}


def test_rails_get_the_quality_of_service_of_roce(facts_of: Facts) -> None:
    found = plan(facts_of("case-h100-roce"), qos=True, qos_priority=5, rails=2)
    wanted = {"priority": 5, "dscp": 26, "cnp_priority": 6, "cnp_dscp": 48}
    assert [(port["hca"], port["port"]) for port in found.qos] == [(rail["hca"], 1) for rail in found.rails]
    assert [{name: port[name] for name in wanted} for port in found.qos] == [wanted] * 2
    # Without addresses there is nothing for NetworkManager.
    assert found.links == []
    assert [port.wanted.priority for port in request.parse_qos(found.qos)] == [5, 5]
    assert plan(facts_of("case-h100-roce"), subnet="10.0.0.0/16", rails=2).qos == []


def test_infiniband_needs_none(facts_of: Facts) -> None:
    with pytest.raises(PlanError, match="rdma_links_qos is True, but this node's links are InfiniBand: leave it out"):
        plan(facts_of("a100-01"), qos=True)


def test_filter_sees_the_variables_of_the_play(facts_of: Facts) -> None:
    context = {"inventory_hostname": "n7", "rdma_links_subnet": "10.0.0.0/24", "rdma_links_mtu": 2044}
    own = hostvars(facts_of("a100-01"), rdma_links_mtu=4092)

    def planned(variables: Any) -> list[Any]:
        return [(link.get("addresses"), link["mtu"]) for link in links_filter(context, variables)["links"]]

    assert planned(HostVarsVars(own, loader=DataLoader(), host="n7")) == [(["10.0.0.7/24"], 2044)]
    assert planned(HostVarsVars(dict(own, inventory_hostname="n8"), loader=DataLoader(), host="n8")) == [(None, 4092)]
    assert planned(own) == [(None, 4092)]


@pytest.mark.parametrize(
    ("facts", "variables", "message"),
    [
        (
            None,
            {"rdma_links_subnet": "10.0.0.0/24"},
            "n7: there are no facts about its HCAs: gather them first",
        ),
        ("lab-01", {"rdma_links_mtu": "9k"}, "n7: rdma_links_mtu is '9k', it must be a whole number"),
        (
            "v100-01",
            {"rdma_links_mtu": 9000},
            "n7: rdma_links_mtu is 9000, but this node.s links are InfiniBand",
        ),
    ],
)
def test_filter_refuses(facts_of: Facts, facts: str | None, variables: dict[str, Any], message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        links_filter({}, hostvars(facts_of(facts) if facts else None, **variables))
