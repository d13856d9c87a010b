# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The sentence of each reason and warning, what counts as available, and how large facts may be."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read, reasons, warnings
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded, Reason, Usable
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import MOST_CHARACTERS, Facts, Hca, PciFunction


@pytest.mark.parametrize(
    ("code", "fields", "text"),
    [
        ("bond", {"netdev": "bond0", "slaves": ["a", "b"]}, "bond0 is a bond of a, b"),
        ("bond", {"netdev": "bond0", "slaves": []}, "bond0 is a bond of no netdev"),
        ("bond_slave", {"netdev": "a", "master": "bond0"}, "a is a slave of bond bond0"),
        ("bridge_port", {"netdev": "a", "master": "br0"}, "a is a port of bridge br0"),
        ("default_route", {"netdev": "a"}, "a carries the default route"),
        ("default_route", {"netdev": "a", "through": "br0"}, "a carries the default route through br0"),
        (
            "default_route_unknown",
            {"netdev": "a"},
            "the routing tables cannot be read, so a may carry the default route",
        ),
        ("driver_not_allowed", {"allowed": ["x", "y"], "driver": "irdma"}, "driver irdma is not one of x, y"),
        ("driver_not_allowed", {"allowed": ["x"]}, "driver (none) is not one of x"),
        ("in_pod", {"netdev": "a"}, "netdev a is in another network namespace (a pod's)"),
        ("in_pod", {}, "no netdev on the host: it is in a pod's network namespace or its driver is not loaded"),
        ("nvswitch_management", {"hca": "m"}, "m manages the NVSwitches and is reserved for the Fabric Manager"),
        ("pci_unknown", {"hca": "m"}, "the PCI function of m is unknown"),
        ("port_down", {"state": "DOWN", "physical_state": "Polling"}, "port state is DOWN, physical state Polling"),
        ("port_down", {}, "port state is unknown"),
        ("software_device", {"hca": "m", "driver": "rxe"}, "m is a software device (rxe)"),
        ("software_device", {"hca": "m"}, "m is a software device (unknown kind)"),
        ("team_port", {"netdev": "a", "master": "team0"}, "a is a port of team team0"),
        ("vf", {"pf_address": "0000:1a:00.0"}, "virtual function of 0000:1a:00.0"),
        ("vf", {}, "virtual function of an unknown PF"),
    ],
)
def test_sentences_of_reasons(code: str, fields: Dict[str, Any], text: str) -> None:
    assert reasons.reason(code, **fields, unsaid=None) == Reason(code, text, fields)


@pytest.mark.parametrize(
    ("code", "fields", "text"),
    [
        ("acs_redirects", {"bridges": ["b"]}, "ACS on 1 bridge redirects GPU-NIC traffic to the root complex: b"),
        (
            "acs_redirects",
            {"bridges": list("abcd")},
            "ACS on 4 bridges redirects GPU-NIC traffic to the root complex: a, b, c, d",
        ),
        (
            "acs_redirects",
            {"bridges": list("abcde")},
            "ACS on 5 bridges redirects GPU-NIC traffic to the root complex: a, b, c, d, ...",
        ),
        (
            "gpu_index",
            {},
            "S is not bound to the NVIDIA driver, so the indices from here on are not those of nvidia-smi",
        ),
        (
            "gpu_index",
            {"nvidia_smi": 0},
            "S is GPU 0 of nvidia-smi, so the indices from here on are not those of nvidia-smi",
        ),
        (
            "link_errors",
            {"counter": "symbol_error", "count": 9, "limit": 7.4},
            "S has symbol_error 9, 7 would be normal since boot: a bad cable, transceiver or switch port, or"
            " congestion",
        ),
        (
            "link_errors",
            {"counter": "link_downed", "count": 9, "limit": 0.0},
            "S has link_downed 9, it should be 0: a bad cable, transceiver or switch port, or congestion",
        ),
        ("netdev_claimed_twice", {"ports": ["a/1", "b/1"]}, "a/1, b/1 all claim netdev S: sysfs is inconsistent"),
        (
            "no_rdma_device",
            {"driver": "mlx5_core", "module": "mlx5_ib"},
            "S (mlx5_core) has no RDMA device: mlx5_ib is not loaded, or it is in another RDMA network namespace",
        ),
        ("no_subnet_manager", {}, "S has SM LID 0: no subnet manager on its fabric"),
        (
            "no_subnet_manager",
            {"state": "INIT"},
            "S is cabled but in state INIT: no subnet manager responds on its fabric",
        ),
        ("numa_unknown", {"address": "A"}, "firmware reports no NUMA node for S (A), so its paths count as SYS"),
        (
            "pcie_below_port_rate",
            {"rate_gbps": 100.0, "pcie_gbps": 63.0},
            "S is a 100 Gb/s port behind a PCIe link that carries 63 Gb/s",
        ),
        (
            "pcie_degraded",
            {"speed_gts": 8.0, "width": 8, "max_speed_gts": 16.0, "max_width": 16},
            "S has a PCIe link of 8 GT/s x8, card and slot support 16 GT/s x16: check slot and riser",
        ),
        (
            "port_down",
            {"up": [], "state": "DOWN"},
            "S is DOWN (physical state unknown), no other port is up: check the cable of S",
        ),
        # One for which the kernel has no word.
        (
            "port_down",
            {"up": []},
            "S is in an unknown state (physical state unknown), no other port is up: check the cable of S",
        ),
        (
            "port_down",
            {"up": ["a/1"], "state": "DOWN", "physical_state": "Polling"},
            "S is DOWN (Polling), a/1 is up: check the cable of S",
        ),
        (
            "port_down",
            {"up": ["a/1", "b/1"], "state": "INIT", "physical_state": "LinkUp"},
            "S is INIT (LinkUp), a/1, b/1 are up: check the cable of S",
        ),
        (
            "rate_below_maximum",
            {"rate_gbps": 200.0, "max_rate_gbps": 400.0},
            "S runs at 200 Gb/s, its maximum is 400 Gb/s",
        ),
        (
            "rate_below_maximum",
            {"rate_gbps": 200.0, "max_rate_gbps": 400.0, "twin": "b/1"},
            "S runs at 200 Gb/s, b/1 on an equal card at 400 Gb/s: check the cable and the switch port of S",
        ),
        (
            "rate_below_maximum",
            {"rate_gbps": 50.0, "lanes": 2, "max_lanes": 4},
            "S runs at 50 Gb/s on 2 of 4 lanes: check for a split or faulty cable",
        ),
        (
            "umad_missing",
            {},
            "S has no /dev/infiniband/umadN: load ib_umad, device plugins ignore the port without it",
        ),
        ("unreadable", {"reason": "EIO"}, "S cannot be used: EIO"),
        (
            "uverbs_missing",
            {},
            "S has no /dev/infiniband/uverbsN: load ib_uverbs, the HCA is unusable without it",
        ),
    ],
)
def test_sentences_of_warnings(code: str, fields: Dict[str, Any], text: str) -> None:
    found = warnings.warning(code, "S", **fields, unsaid=None)
    assert (found.code, found.subject, found.text, found.fields) == (code, "S", text, fields)


def out(name: str, *codes: str) -> Excluded:
    return Excluded(name, 1, [Reason(code, "") for code in codes])


def test_what_is_available() -> None:
    place = PciFunction("0000:1a:00.0", "", "", "")
    excluded = [out("b", "in_pod"), out("c", "in_pod", "vf"), out("d", "port_down"), out("e")]
    facts = Facts(usable=[Usable("a", 2)], excluded=excluded, hcas=[Hca("a", pci=place), Hca("b")])
    assert (facts.available, facts.in_pod) == ([("a", 2), ("b", 1)], [("b", 1)])
    assert [(hca.name, pci.address) for hca, pci in facts.placed] == [("a", "0000:1a:00.0")]
    assert {key: [one.code for one in own] for key, own in facts.reasons.items()} == {
        ("b", 1): ["in_pod"],
        ("c", 1): ["in_pod", "vf"],
        ("d", 1): ["port_down"],
        ("e", 1): [],
    }


def refused(**sent: Any) -> str:
    """The message about what a node sent, empty where it is read."""
    try:
        read.facts({"signature": "0", **sent})
    except read.FactsError as error:
        return str(error)
    return ""


def warned(*texts: str) -> List[Dict[str, Any]]:
    return [{"code": "c", "subject": "s", "text": text} for text in texts]


def test_how_large_facts_may_be() -> None:
    most, many = MOST_CHARACTERS, read.MOST_ENTRIES
    assert refused(unreadable=["x" * most]) == ""
    assert refused(unreadable=["x" * (most + 1)]) == "unreadable[0] has 16385 characters, at most 16384 are allowed"
    assert refused(unreadable=["x"] * many) == ""
    assert refused(unreadable=["x"] * (many + 1)) == "unreadable has 4097 entries, at most 4096 are allowed"
    assert refused(sources=dict.fromkeys(map(str, range(many)), "x")) == ""
    assert "4097 entries" in refused(sources=dict.fromkeys(map(str, range(many + 1)), "x"))
    # Texts of reasons count, too.
    whole = read.MOST_TEXT // most
    kept = [{"hca": "a", "port": 1, "reasons": [{"code": "c", "text": "x" * most}]}]
    assert refused(warnings=warned(*["x" * most] * (whole - 1)), excluded=kept) == ""
    assert "have 524289 characters of text" in refused(warnings=warned(*["x" * most] * (whole - 1), "y"), excluded=kept)


@pytest.mark.parametrize(
    ("value", "fine"),
    [(2**64 - 1, True), (2**64, False), (-(2**64) + 1, True), (-(2**64), False), (1.5, False), (True, False)],
)
def test_integers_of_facts(value: Any, fine: bool) -> None:
    own = {"name": "a", "ports": [{"number": 1, "lid": value}]}
    assert (refused(hcas=[own]) == "") is fine


def test_where_and_what_is_wrong() -> None:
    assert refused(sources={"x" * 100: 1}) == f"sources.{'x' * 60} is 1, it must be a string"
    assert refused(hcas=[{}]) == "hcas[0].name is missing, it must be a string"
    assert refused(system={"numa_nodes": [0, "1"]}) == "system.numa_nodes[1] is '1', it must be an integer"
    # A long value is cut, whatever it is.
    assert refused(hcas="y" * 100) == f"hcas is '{'y' * 59}..., it must be a list"
    assert refused(hcas="y" * 58) == f"hcas is '{'y' * 58}', it must be a list"
    assert refused(system={"memlock": {"runtime": "k3s", "pid": 1, "soft": 1.5}}) == (
        "system.memlock.soft is 1.5, it must be an integer or a string"
    )
    assert read.FactsError("", "is wrong").args == ("is wrong",)
    with pytest.raises(read.FactsError, match=r"^is 5, it must be a map$"):
        read.facts(5)
