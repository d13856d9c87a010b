# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Verdicts on recorded nodes: what is right passes, and each fault is found and named."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import facts as host_facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import judge as host_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import LAB, Facts, changed, node, worst


def test_a_node_that_is_right_passes_everything(facts_of: Facts) -> None:
    checks = host_facts.of_node(node(facts_of("lab-01"), **LAB))
    assert worst(checks) == {}
    assert {check.id for check in checks if check.verdict == "pass"} >= {
        "host.ports",
        "host.port_state",
        "host.port_rate",
        "host.gid",
        "host.devices",
        "host.pcie_link",
        "host.mtu",
        "host.address",
        "host.modules",
    }
    assert all(not check.remedy for check in checks if check.verdict == "pass")


@pytest.mark.parametrize(
    ("port", "id_", "said"),
    [
        ({"netdev_mtu": 1500}, "host.mtu", "MTU 1500, rdma_links_mtu is 9000"),
        ({"netdev_addresses": ["10.0.0.9/24"]}, "host.address", "has 10.0.0.9/24, it should have 10.0.0.1/24"),
        ({"netdev_addresses": []}, "host.address", "has no address, it should have 10.0.0.1/24"),
        ({"roce_v2_gid_index": None}, "host.gid", "no GID of RoCE v2"),
        ({"gids": []}, "host.gid", "no GID of RoCE v2 with its address 10.0.0.1/24"),
        ({"rate_gbps": 10.0}, "host.port_rate", "runs at 10 Gb/s, group lab should have 25 Gb/s"),
        ({"link_layer": "InfiniBand"}, "host.link_layer", "is InfiniBand, group lab should have Ethernet"),
    ],
)
def test_a_port_that_is_wrong_is_named(facts_of: Facts, port: dict[str, Any], id_: str, said: str) -> None:
    expect: dict[str, Any] = {"rdma_discover_expect_rate_gbps": 25, "rdma_discover_expect_link_layer": "Ethernet"}
    checks = host_facts.of_node(node(changed(facts_of("lab-01"), **port), **LAB, **expect))
    subject, text = worst(checks)[id_]
    assert subject == "mlx5_0/1"
    assert said in text
    found_check = next(check for check in checks if check.id == id_)
    assert found_check.remedy or found_check.mend


MAIN = {"to": "10.0.0.0/24", "table": 254}


@pytest.mark.parametrize(
    ("routes", "verdict"), [(None, None), ([], "fail"), ([{**MAIN, "to": "10.0.0.0/25"}], "fail"), ([MAIN], "pass")]
)
def test_routes_of_planned_addresses(facts_of: Facts, routes: Any, verdict: str | None) -> None:
    facts = changed(facts_of("lab-01"), netdev_routes=routes, netdev_rules=routes and [])
    found = [check for check in host_facts.of_node(node(facts, **LAB)) if check.id == "host.routes"]
    assert [check.verdict for check in found] == ([verdict] if verdict else [])
    if verdict == "fail":
        assert found[0].text.endswith("lacks the route to 10.0.0.0/24")
        assert (found[0].subject, found[0].mend) == ("mlx5_0/1", "links")


def test_rails_in_one_subnet_have_tables_and_rules(facts_of: Facts) -> None:
    values: dict[str, Any] = {"rdma_links_subnet": "10.4.0.0/16", "rdma_links_rails": 8, "rdma_links_host_number": 1}
    facts = copy.deepcopy(facts_of("case-h100-roce"))
    rails = node(facts, **values).rails
    planned = node(facts, **values).addresses()
    for rail, name in rails.items():
        hca, _slash, number = name.partition("/")
        (port,) = [
            port
            for own in facts["hcas"]
            for port in own["ports"]
            if (own["name"], port["number"]) == (hca, int(number))
        ]
        network, ip = str(planned[rail].network), str(planned[rail].ip)
        port["netdev"].update(
            addresses=[str(planned[rail])],
            routes=[{"to": network, "table": table, "source": ip} for table in (100 + rail, 254)],
            rules=[{"source": f"{ip}/32", "table": 100 + rail}],
        )
        if rail == 2:
            port["netdev"]["rules"] = []
        if rail == 3:
            port["netdev"]["routes"] = port["netdev"]["routes"][1:]
    wrong = {
        check.subject: check.text for check in host_facts.of_node(node(facts, **values)) if check.id == "host.routes"
    }
    assert wrong.keys() == {rails[2], rails[3]}
    assert wrong[rails[2]].endswith(f"lacks the rule from {planned[2].ip} to table 102")
    assert wrong[rails[3]].endswith(f"lacks the route to {planned[3].network} in table 103")


def test_a_storage_network_falls_short_of_nothing(facts_of: Facts) -> None:
    expected: dict[str, Any] = {
        "rdma_discover_expect_hcas": 8,
        "rdma_discover_expect_link_layer": "InfiniBand",
        "rdma_discover_expect_rate_gbps": 400.0,
    }
    checks = host_facts.of_node(node(facts_of("case-b200"), **expected))
    # Two of its four Ethernet ports are usable, the others have no cable.
    assert [check for check in checks if check.verdict == "fail"] == []
    (ports,) = [check for check in checks if check.id == "host.ports"]
    assert ports.text == "8 ports fit for workloads, as expected in the group"


@pytest.mark.parametrize(
    ("name", "id_", "verdict", "said"),
    [
        ("lab-02", "host.modules", "fail", "kernel module ib_umad is not loaded"),
        ("lab-02", "host.devices", "fail", "no /dev/infiniband/umadN"),
        ("v100-02", "host.pcie_link", "fail", "behind a PCIe link that carries 63 Gb/s"),
        ("case-no-sm", "host.subnet_manager", "fail", "no subnet manager responds"),
        ("case-acs", "host.gpu_nic", "warn", "ACS redirects their traffic to the root complex"),
        ("lab-02", "host.gpu_nic", "warn", "no DMA-BUF (NVIDIA proprietary kernel modules) and no nvidia_peermem"),
        ("v100-02", "host.gpu_nic", "warn", "mlx5_1 (8 GT/s x8 of 8 GT/s x16)"),
        ("a100-01", "host.gpu_nic", "warn", "the link between two sockets"),
        ("case-nothing", "host.ports", "fail", "0 usable ports, group g should have 1"),
    ],
)
def test_faults_of_recorded_nodes(facts_of: Facts, name: str, id_: str, verdict: str, said: str) -> None:
    checks = host_facts.of_node(node(facts_of(name), name, "g", rdma_discover_expect_hcas=1))
    found = [check for check in checks if check.id == id_ and said in check.text]
    assert [check.verdict for check in found] == [verdict]
    assert found[0].remedy or found[0].mend


def test_a_cable_that_is_not_meant_to_be_there_is_not_missed(facts_of: Facts) -> None:
    facts = facts_of("a100-01")
    right = node(facts, "a100-01", rdma_discover_expect_hcas=1, rdma_links_subnet="198.51.100.0/25")
    assert "host.port_state" not in worst(host_facts.of_node(right))
    assert "host.port_state" in worst(host_facts.of_node(node(facts, "a100-01")))
    two = node(facts, "a100-01", rdma_links_subnet="198.51.100.0/25", rdma_links_rails=2, rdma_discover_expect_hcas=2)
    found = [check for check in host_facts.of_node(two) if check.id == "host.port_state"]
    assert [(check.verdict, check.subject) for check in found] == [("fail", "mlx5_0/1")]


def test_a_nic_in_a_pod_is_no_fault(facts_of: Facts) -> None:
    checks = host_facts.of_node(node(facts_of("case-in-pod"), **LAB))
    assert worst(checks) == {}
    assert [check.verdict for check in checks if check.id == "host.in_pod"] == ["impossible"]


def test_what_site_cannot_change_in_a_record_has_no_command(facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    values: dict[str, Any] = {"rdma_links_mtu": 4092}
    live = [check for check in host_judge.of_looks([node(facts, **values)]) if check.id == "host.mtu"]
    assert {check.mend for check in live} == {"links"}
    recorded = host_judge.of_looks([node(facts, **values, rdma_discover_root="/nodes/v100-01")])
    found = [check for check in recorded if check.id == "host.mtu"]
    assert [check.verdict for check in found] == [check.verdict for check in live]
    assert {check.mend for check in found} == {""}
    assert all("recorded node" in check.remedy for check in found)
    # What only two hosts together show is no other state.
    two = [node(facts, host, rdma_discover_root="/nodes/x") for host in ("v100-01", "v100-02")]
    same = [check for check in host_judge.of_looks(two) if check.id == "host.duplicate_address"]
    assert {(check.verdict, check.mend) for check in same} == {("fail", "")}


def test_a_slot_that_limits_a_port_is_one_finding(facts_of: Facts) -> None:
    checks = host_facts.of_node(node(facts_of("v100-02")))
    [found] = [check for check in checks if check.id == "host.pcie_link"]
    assert (found.verdict, found.subject) == ("fail", "mlx5_1/1")
    assert "carries 63 Gb/s: mlx5_1 has a PCIe link of 8 GT/s x8" in found.text
    assert found.remedy.startswith("Reseat the card")


def test_rails_without_an_ipoib_netdev_do_not_pass(facts_of: Facts) -> None:
    values: dict[str, Any] = {"rdma_links_rail_subnets": [f"10.102.{rail}.0/24" for rail in range(8)]}
    found = worst(host_facts.of_node(node(facts_of("h100-01"), "h100-01", **values)))
    subject, text = found["host.address"]
    assert subject == ""
    assert text.startswith("no IPoIB netdev for the planned address of mlx5_0/1, ")


def test_a_rail_without_a_port_is_missed_once(facts_of: Facts) -> None:
    values: dict[str, Any] = {"rdma_links_rail_subnets": [f"10.102.{rail}.0/24" for rail in range(8)]}
    text = "no port for rails 4-7, which should have an address"
    checks = host_facts.of_node(node(facts_of("h100-03"), "h100-03", **values))
    assert text in [check.text for check in checks if check.verdict == "fail"]
    checks = host_facts.of_node(node(facts_of("h100-03"), "h100-03", **values, rdma_discover_expect_hcas=8))
    assert "host.ports" in worst(checks)
    assert text not in [check.text for check in checks]


def test_netns_mode(facts_of: Facts) -> None:
    checks = host_facts.of_node(node(facts_of("case-vf"), rdma_kernel_netns_mode="shared"))
    assert worst(checks)["host.netns_mode"][1] == "the RDMA netns mode is exclusive, rdma_kernel_netns_mode is shared"
    assert "host.netns_mode" not in worst(host_facts.of_node(node(facts_of("case-vf"))))


@pytest.mark.parametrize(
    ("wanted", "mtu", "said"),
    [
        (2, 9000, None),
        (8, 9000, ("mlx5_0/1", "mlx5_0/1 has 2 VFs, rdma_links_vfs is 8")),
        (2, 1500, ("mlx5_1/1", "mlx5_1/1 (ens1f0v0), a VF of mlx5_0/1, has MTU 1500, rdma_links_mtu is 9000")),
    ],
)
def test_vfs_of_a_rail(facts_of: Facts, wanted: int, mtu: int, said: tuple[str, str] | None) -> None:
    facts = copy.deepcopy(facts_of("case-vf"))
    facts["usable"], facts["excluded"] = [{"hca": "mlx5_0", "port": 1}], []
    facts["hcas"][0]["ports"][0]["netdev"].update(mtu=9000)
    facts["hcas"][1]["ports"][0]["netdev"].update(mtu=mtu, name="ens1f0v0", present=True)
    facts["hcas"][2]["ports"][0]["netdev"].update(present=False, mtu=1280)
    values: dict[str, Any] = {"rdma_links_vfs": wanted, "rdma_links_mtu": 9000, "rdma_links_ports": [{"hca": "mlx5_0"}]}
    checks = host_facts.of_node(node(facts, **values))
    assert worst(checks).get("host.vfs") == said
    assert [check.verdict for check in checks if check.id == "host.vfs"] == ["pass" if said is None else "fail"]


def test_a_host_without_facts_is_told_and_nothing_else() -> None:
    assert [(check.id, check.verdict) for check in host_facts.of_node(node(None))] == [("host.facts", "fail")]


DIFF = {
    "before_header": "/etc/x.toml",
    "after_header": "/etc/x.toml",
    "before": "a = 1\n  disable = true\n",
    "after": "a = 1\n  disable = false\n",
}
FILE = {"kind": "file", "name": "/etc/x.toml", "before": "present", "after": "present"}
SERVICE = {"kind": "service", "name": "containerd.service", "before": "running", "after": "restarted"}
NRI = {"enabled": True, "request_timeout": "30s"}
DRIFTS: list[tuple[str, dict[str, Any], str, str, str]] = [
    (
        "kernel",
        {"changes": [{"kind": "module", "name": "rdma_rxe", "before": "unloaded", "after": "loaded"}]},
        "host.modules",
        "fail",
        "module rdma_rxe is unloaded, it should be loaded",
    ),
    (
        "kernel",
        {"changes": [{"kind": "file", "name": "/etc/modules-load.d/z.conf", "before": "absent", "after": "present"}]},
        "host.kernel",
        "warn",
        "not as configured for the next boot: /etc/modules-load.d/z.conf is missing",
    ),
    (
        "kernel",
        {"changes": [], "reboot_reasons": ["ib_core.netns_mode is Y, 0 counts from the next boot"]},
        "host.kernel",
        "warn",
        "ib_core.netns_mode is Y, 0 counts from the next boot",
    ),
    (
        "kernel",
        {"changes": [], "not_effective": {"mlx5_core.x": "it is 1"}},
        "host.kernel",
        "fail",
        "mlx5_core.x is not in effect: it is 1",
    ),
    (
        "links",
        {"changes": [{"kind": "mtu", "name": "ens1np0", "before": 1500, "after": 9000}]},
        "host.mtu",
        "fail",
        "mtu ens1np0 is 1500, it should be 9000",
    ),
    (
        "links",
        {
            "changes": [
                {"kind": "vf_guid", "name": "0000:91:00.1", "before": "none", "after": "ba:59:9f:00:00:c6:e4:6b"}
            ]
        },
        "host.vfs",
        "fail",
        "vf guid 0000:91:00.1 is none, it should be ba:59:9f:00:00:c6:e4:6b",
    ),
    (
        "links",
        {"changes": [{"kind": "connection", "name": "rdma-rail0", "before": "disconnected", "after": "connected"}]},
        "host.links",
        "fail",
        "connection rdma-rail0 is disconnected, it should be connected",
    ),
    (
        "runtime",
        {"changes": [FILE, SERVICE], "diff": [DIFF], "unit": "containerd.service"},
        "host.runtime",
        "fail",
        "containerd.service does not run with the configured NRI, CDI and locked-memory limit:"
        " /etc/x.toml has 'disable = true' instead of 'disable = false'",
    ),
    (
        "runtime",
        {"changes": [SERVICE], "unit": "containerd.service"},
        "host.runtime",
        "fail",
        "it does not answer on its NRI socket, or was not restarted since its last change",
    ),
    (
        "runtime",
        {"changes": [{"kind": "sandbox_record", "name": "bad-0", "before": "left behind", "after": "absent"}, SERVICE]},
        "host.sandbox_records",
        "fail",
        "sandbox record bad-0 is left behind",
    ),
    (
        "runtime",
        {"changes": [], "sandbox_records": ["bad-0 (0f38942f46b9)"], "unit": "containerd.service"},
        "host.sandbox_records",
        "fail",
        "containerd.service will fail at its next start, or at a reboot: failed attaches left bad-0 (0f38942f46b9)",
    ),
    (
        "packages",
        {"changes": [{"kind": "package", "name": "perftest", "before": "absent", "after": "present"}]},
        "host.packages",
        "warn",
        "packages are not installed: perftest",
    ),
    (
        "packages",
        {"changes": [], "unknown": True},
        "host.packages",
        "impossible",
        "the node has neither dpkg nor rpm",
    ),
    (
        "images",
        {"changes": [{"kind": "image", "name": "example/dranet:v1.4.0", "before": None, "after": "sha256:1"}]},
        "host.images",
        "fail",
        "example/dranet:v1.4.0 is missing on this node",
    ),
    (
        "runtime",
        {"changes": [], "restart_pending": True},
        "host.runtime",
        "fail",
        "configured, but not restarted since",
    ),
    (
        "runtime",
        {"changes": [], "running_pods_keep_old_limit": 2},
        "host.memlock",
        "warn",
        "a lower limit of locked memory than configured in 2 running pods",
    ),
    (
        "runtime",
        {"unit": "containerd.service", "changes": [], "nri": {**NRI, "enabled": False}},
        "host.runtime",
        "fail",
        "containerd.service lets no NRI plugin connect",
    ),
]


@pytest.mark.parametrize(("concern", "result", "id_", "verdict", "said"), DRIFTS)
def test_what_prepare_would_change_is_a_finding(
    facts_of: Facts, concern: str, result: dict[str, Any], id_: str, verdict: str, said: str
) -> None:
    one = node(facts_of("lab-01"))
    one.drift = {concern: result}
    found = [check for check in drift.of_node(one) if check.id == id_ and said in check.text]
    assert [check.verdict for check in found] == [verdict]
    assert found[0].remedy or found[0].mend


def test_nothing_to_change_is_as_configured(facts_of: Facts) -> None:
    one = node(facts_of("lab-01"))
    one.drift = {"kernel": {"changes": []}, "links": {"changes": []}, "runtime": {"changes": [], "nri": NRI}}
    found = {check.id: (check.verdict, check.text) for check in drift.of_node(one)}
    assert {verdict for verdict, _text in found.values()} == {"pass"}
    assert "NRI is in effect and answers with a request timeout of 30s" in found["host.runtime"][1]


def test_what_the_facts_show_is_not_told_twice(facts_of: Facts) -> None:
    one = node(facts_of("lab-02"), "lab-02")
    load = {"kind": "module", "name": "ib_umad", "before": "unloaded", "after": "loaded"}
    one.drift = {"kernel": {"changes": [load]}}
    every = host_facts.of_node(one) + drift.of_node(one)
    assert len([check for check in every if check.subject == "ib_umad" and check.verdict == "fail"]) == 1


def test_what_cannot_be_compared_is_a_failure_and_what_was_not_is_none(facts_of: Facts) -> None:
    one = node(facts_of("lab-01"))
    one.drift = {"kernel": {"changes": [], "error": "modules:\n 'ib_umad' does not exist"}}
    found = {check.id: check for check in drift.of_node(one)}
    assert found["host.kernel"].text == "the configuration cannot be applied: modules: 'ib_umad' does not exist"
    assert [found[name].verdict for name in ("host.kernel", "host.links", "host.runtime")] == [
        "fail",
        "impossible",
        "impossible",
    ]


UNIT = "zerocopy-rdma-inject.service"
EXPORTER = {"unit": "zerocopy-rdma-exporter.service", "service": "active", "changes": []}
STOPPED = {"kind": "service", "name": EXPORTER["unit"], "before": "stopped", "after": "started"}
MISSING = {"kind": "file", "name": "/etc/zerocopy-rdma/exporter.json", "before": "absent", "after": "present"}
RUNS = {"unit": UNIT, "service": "active", "registered": True, "registered_by": "runtime"}


@pytest.mark.parametrize(
    ("result", "verdicts"),
    [
        # A node whose strategy has no daemon.
        ({}, []),
        (RUNS, ["pass"]),
        ({**RUNS, "changes": [{"kind": "service", "name": UNIT, "before": "stopped", "after": "started"}]}, ["fail"]),
        ({**RUNS, "registered": False}, ["fail"]),
        ({**RUNS, "config_error": "no JSON", "last_refusal": "no NIC", "refused": 2}, ["fail", "warn"]),
        ({"error": "digest is missing"}, ["fail"]),
        # Beside it, or alone, the exporter.
        ({"exporter": EXPORTER}, ["pass"]),
        ({**RUNS, "exporter": EXPORTER}, ["pass"]),
        ({**RUNS, "changes": [STOPPED], "exporter": {**EXPORTER, "changes": [STOPPED]}}, ["fail"]),
        ({"changes": [STOPPED], "exporter": {**EXPORTER, "changes": [STOPPED]}}, ["fail"]),
        ({"changes": [MISSING], "exporter": {**EXPORTER, "changes": [MISSING]}}, ["fail"]),
    ],
)
def test_what_is_said_of_daemons(result: dict[str, Any], verdicts: list[str]) -> None:
    checks = drift.of_node(HostEvidence("lab-01", "lab", drift={"daemons": {"changes": [], **result}}))
    found = [check for check in checks if check.id == "host.daemons"]
    assert [check.verdict for check in found] == verdicts
    assert {check.subject for check in found if check.verdict != "pass" and "unit" in result} <= {
        UNIT,
        EXPORTER["unit"],
    }


def test_a_daemon_that_differs_has_a_remedy_of_its_own() -> None:
    stopped = {"unit": "zerocopy-rdma-attributes.service", "service": "inactive", "changes": [STOPPED]}
    result = {"changes": [], "exporter": {**EXPORTER, "changes": [MISSING]}, "attributes": stopped}
    found = drift.of_node(HostEvidence("lab-01", "lab", drift={"daemons": result}))
    # And not the sentence of the tag whose run mends it, which is about the container runtime.
    assert [(check.subject, check.remedy, check.mend) for check in found if check.id == "host.daemons"] == [
        (EXPORTER["unit"], "Configure the exporter as planned.", "runtime"),
        (stopped["unit"], "Configure the daemon of attributes as planned.", "runtime"),
    ]


LISTENS = "/etc/lldpd.d/zerocopy-rdma.conf"
WANTED = "configure system interface pattern ens1np0\nconfigure lldp status rx-only\n"
SENDS = {"before": WANTED.replace("rx-only", "rx-and-tx"), "after": WANTED, "after_header": LISTENS}


@pytest.mark.parametrize(
    ("change", "diff", "text"),
    [
        ({"kind": "file", "name": LISTENS, "before": "absent", "after": "present"}, [], f"{LISTENS} is missing"),
        (
            {"kind": "file", "name": LISTENS, "before": "present", "after": "present"},
            [SENDS],
            f"{LISTENS} has 'configure lldp status rx-and-tx' instead of 'configure lldp status rx-only'",
        ),
        (
            {"kind": "package", "name": "lldpd", "before": "absent", "after": "present"},
            [],
            "it does not run, or is not enabled",
        ),
        (None, [], ""),
    ],
)
def test_what_is_said_of_lldpd(change: dict[str, Any] | None, diff: list[dict[str, str]], text: str) -> None:
    changes = [change] if change else []
    own = {"unit": "lldpd.service", "package": "", "service": "inactive", "changes": changes}
    result = {"changes": changes, "diff": diff, "lldpd": own}
    found = drift.of_node(HostEvidence("lab-01", "lab", drift={"daemons": result}))
    told = [(check.verdict, check.text, check.remedy, check.mend) for check in found if check.id == "host.daemons"]
    if change:
        said = f"lldpd.service is not as configured: {text}"
        assert told == [("fail", said, "Configure lldpd as planned.", "runtime")]
    else:
        assert told == [("pass", "lldpd.service runs as configured", "", "")]


@pytest.mark.parametrize("name", ["rdma_links_rails", "rdma_discover_expect_hcas"])
def test_the_number_of_rails_counts_where_no_link_is_wanted(facts_of: Facts, name: str) -> None:
    """On an InfiniBand fleet nobody may ask for addresses, and rails are numbered all the same."""
    facts = copy.deepcopy(facts_of("h100-03"))
    ports = [f"{hca['name']}/{hca['ports'][0]['number']}" for hca in facts["hcas"]]
    wanted: dict[str, Any] = {name: len(ports)}
    assert node(facts, "h100-03", **wanted, rdma_links_mtu=4000).rails == dict(enumerate(ports))
    facts["hcas"][1]["ports"][0].update(state="DOWN", physical_state="Polling")
    facts["usable"] = [port for port in facts["usable"] if port["hca"] != facts["hcas"][1]["name"]]
    down = {"hca": facts["hcas"][1]["name"], "port": 1, "reasons": [{"code": "port_down", "text": "the port is down"}]}
    facts["excluded"] = [*facts["excluded"], down]
    assert node(facts, "h100-03", **wanted).rails == dict(enumerate(ports))
