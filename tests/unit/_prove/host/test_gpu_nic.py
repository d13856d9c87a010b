# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""One verdict for each pair of GPU and NIC: right values of described nodes, and what holds for any facts."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gather
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import VERDICTS, Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import facts as host_facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import gpu_nic, gpu_nic_checks
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.gpu_nic import PARTS, STATES, PairVerdict
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import Facts, node
from ansible_collections.zerocopy.rdma.tests.unit.fleet import topology_tree

Raw = dict[str, Any]


def states(verdict: PairVerdict) -> dict[str, str]:
    return {part.name: part.state for part in verdict.parts}


def judged(facts: Raw) -> list[PairVerdict]:
    return gpu_nic.of_facts(read.facts(facts))


def checks(facts: Raw) -> list[Check]:
    return list(gpu_nic_checks.of_node(node(facts)))


GOOD = {"acs": "off", "iommu": "off", "relaxed_ordering": "on", "memory": "peermem", "pcie_link": "best"}
BARE = {**GOOD, "acs": "no_switch"}
GUEST = dict.fromkeys(("acs", "iommu", "relaxed_ordering"), "guest")


@pytest.mark.parametrize(
    ("name", "pair", "verdict", "expected"),
    [
        ("v100-01", "GPU 0/mlx5_0", "pass", {"path": "PIX", **GOOD}),
        ("v100-02", "GPU 2/mlx5_1", "warn", {"path": "PIX", **GOOD, "pcie_link": "degraded"}),
        ("a100-01", "GPU 0/mlx5_1", "warn", {"path": "SYS", **BARE, "iommu": "passthrough"}),
        ("a100-01", "GPU 6/mlx5_1", "pass", {"path": "PHB", **BARE, "iommu": "passthrough"}),
        ("h100-03", "GPU 7/mlx5_3", "pass", {"path": "PHB", **BARE, "memory": "dmabuf"}),
        ("lab-02", "GPU 0/mlx5_0", "warn", {"path": "NODE", **BARE, "memory": "none"}),
        ("case-acs", "GPU 0/mlx5_0", "warn", {"path": "PIX", **GOOD, "acs": "on", "iommu": "translated"}),
        ("case-h100-roce", "GPU 7/mlx5_7", "pass", {"path": "PXB", **GOOD, "memory": "dmabuf"}),
        ("case-amd", "GPU 0/mlx5_0", "pass", {"path": "PIX", **GOOD, "memory": "dmabuf"}),
        # Whether its driver takes DMA-BUF is not known here.
        (
            "case-mi300x",
            "GPU 0/bnxt_re0",
            "impossible",
            {"path": "PIX", **GOOD, "iommu": "passthrough", "memory": "unknown"},
        ),
        # A virtual machine: VFs have no link of their own, and the rest is set on its host.
        (
            "h100-01",
            "GPU 0/mlx5_0",
            "impossible",
            {"path": "NODE", **GOOD, **GUEST, "memory": "dmabuf", "pcie_link": "unknown"},
        ),
    ],
)
def test_pairs_of_described_nodes(facts_of: Facts, name: str, pair: str, verdict: str, expected: Raw) -> None:
    (found,) = (each for each in judged(facts_of(name)) if each.name == pair)
    assert (found.verdict, states(found)) == (verdict, expected)


def test_what_acs_redirects_is_named_by_bridge_and_bit(facts_of: Facts) -> None:
    facts = facts_of("case-acs")
    (check,) = checks(facts)
    assert (check.id, check.verdict, check.mend) == ("host.gpu_nic", "warn", "")
    assert check.subject == "GPU 0/mlx5_0, GPU 1/mlx5_0, GPU 2/mlx5_1, GPU 3/mlx5_1"
    first = check.evidence["pairs"]["GPU 0/mlx5_0"]
    assert first["acs"] == "on: 0000:3c:00.0 (ReqRedir, CmpltRedir), 0000:3c:02.0 (ReqRedir, CmpltRedir)"
    bridges = ";".join(sorted(facts["system"]["acs"]))
    wanted = ["iommu=pt", f"pci=disable_acs_redir={bridges}"]
    assert check.evidence["kernel_parameters"] == {"present": ["intel_iommu=on"], "remove": [], "add": wanted}
    assert f"Add {' '.join(wanted)} to the kernel's command line (now: intel_iommu=on), and reboot" in check.remedy
    assert "leave it on where virtual machines get them or their VFs" in check.remedy


def test_what_is_found_is_told_once(facts_of: Facts) -> None:
    for name in ("case-acs", "lab-02"):
        told = [check for check in host_facts.of_node(node(facts_of(name))) if check.verdict != "pass"]
        assert [check.id for check in told if "ACS" in check.text or "nvidia_peermem" in check.text] == ["host.gpu_nic"]


def test_alike_pairs_are_one_check_and_all_are_in_it(facts_of: Facts) -> None:
    for name in ("case-h100-roce", "h100-01", "a100-01"):
        found = checks(facts_of(name))
        named = [pair for check in found for pair in check.evidence["pairs"]]
        assert sorted(named) == sorted(verdict.name for verdict in judged(facts_of(name)))
        assert len(found) <= 3
        assert all(check.remedy for check in found if check.verdict == "warn")
        assert not any(check.remedy for check in found if check.verdict == "pass")


def test_a_node_in_arm_or_of_an_unknown_processor_gets_no_parameter_of_x86(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-acs"))
    for arch, verdict in (("aarch64", "impossible"), (None, "warn")):
        facts["system"]["arch"] = arch
        (check,) = checks(facts)
        assert "iommu=pt" not in check.remedy
        assert "pci=disable_acs_redir=" in check.remedy
        part = next(part for part in judged(facts)[0].parts if part.name == gpu_nic.IOMMU)
        assert part.known.verdict == verdict


def test_what_stands_there_already_is_not_asked_for_again(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-acs"))
    bridges = ";".join(sorted(facts["system"]["acs"]))
    facts["system"]["kernel_parameters"] = ["iommu=pt", f"pci=disable_acs_redir={bridges}"]
    (check,) = checks(facts)
    assert check.evidence["kernel_parameters"]["add"] == []
    assert "asks for passthrough already" in check.remedy
    assert "names these bridges already" in check.remedy
    assert "Add " not in check.remedy


def test_a_gpu_without_a_nic_is_told(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    facts["affinity"][3]["nearest"] = []
    found = checks(facts)
    assert [(check.verdict, check.text.partition(",")[0]) for check in found if not check.subject] == [
        ("impossible", "GPU 3 has no NIC that is fit for workloads")
    ]
    assert checks(facts_of("case-nothing")) == []


def test_a_gpu_that_saves_power_is_not_degraded_and_one_with_fewer_lanes_is(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    link = facts["gpus"][0]["pcie_link"]
    link.update(speed_gts=2.5, degraded=True)
    assert states(judged(facts)[0])["pcie_link"] == "best"
    link.update(width=8)
    (part,) = (part for part in judged(facts)[0].parts if part.state == "degraded")
    assert part.about == ("GPU 0 (x8 of x16)",)


def test_a_vf_has_the_link_of_its_card(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-vf"))
    vf = next(hca for hca in facts["hcas"] if hca["sriov"]["role"] == "vf")
    facts["affinity"][0]["nearest"] = [vf["name"]]
    facts["affinity"][0]["paths"][vf["name"]] = "PIX"
    assert states(judged(facts)[0])["pcie_link"] == "best"
    facts["hcas"] = [hca for hca in facts["hcas"] if hca["sriov"]["role"] != "pf"]
    assert states(judged(facts)[0])["pcie_link"] == "unknown"


def test_facts_of_an_earlier_version_are_judged_as_far_as_they_go(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("case-acs"))
    for name in ("arch", "virtual", "kernel_parameters", "iommu_modes", "acs_flags", "relaxed_ordering"):
        del facts["system"][name]
    for gpu in facts["gpus"]:
        del gpu["pcie_link"]
    found = states(judged(facts)[0])
    assert found == {
        "path": "PIX",
        "acs": "on",
        "iommu": "translated",
        "relaxed_ordering": "unknown",
        "memory": "peermem",
        "pcie_link": "unknown",
    }
    facts["system"]["acs"] = dict.fromkeys(facts["system"]["acs"], False)
    facts["system"]["iommu"] = "off"
    found = states(judged(facts)[0])
    assert (found["acs"], found["iommu"]) == ("machine_unknown", "machine_unknown")
    for mode in ("mixed", "another", None):
        facts["system"]["iommu"] = mode
        assert states(judged(facts)[0])["iommu"] == "unknown"


def test_an_hca_that_is_not_there_is_not_judged(facts_of: Facts) -> None:
    facts = copy.deepcopy(facts_of("v100-01"))
    facts["affinity"][0].update(nearest=["mlx5_9"])
    found = judged(facts)[0]
    assert (found.name, found.verdict) == ("GPU 0/mlx5_9", "impossible")
    assert {name for name, state in states(found).items() if STATES[name][state].verdict == "pass"} == {"memory"}


@pytest.mark.parametrize("name", sorted(path.stem for path in topology_tree.CASES.glob("*.yml")))
def test_of_published_topologies_nothing_is_right_that_nobody_published(tmp_path: Path, name: str) -> None:
    """They have paths and links, but neither ACS nor IOMMU nor the driver of a GPU."""
    root = tmp_path / "machine"
    topology_tree.write(name, root)
    facts = gather.gather(str(root))
    found = judged(facts)
    assert len(found) == sum(len(entry["nearest"]) for entry in facts["affinity"])
    assert {verdict.verdict for verdict in found} <= {"impossible", "warn"}
    unknown = [{part.name for part in verdict.parts if part.known.verdict == "impossible"} for verdict in found]
    assert all(parts >= {"acs", "iommu", "relaxed_ordering", "memory"} for parts in unknown)


# What makes one part worse, in the facts of any node with pairs; the first of them that fits changes something.
def _acs_on(facts: Raw) -> None:
    facts["system"]["acs"] = dict.fromkeys(facts["system"]["acs"], True)


def _translated(facts: Raw) -> None:
    facts["system"].update(iommu="translated", iommu_modes=dict.fromkeys(facts["system"]["iommu_modes"], "translated"))


def _unordered(facts: Raw) -> None:
    facts["system"]["relaxed_ordering"] = dict.fromkeys(facts["system"]["relaxed_ordering"], False)


def _far(facts: Raw) -> None:
    for entry in facts["affinity"]:
        entry["paths"] = dict.fromkeys(entry["paths"], "SYS")


def _unregistered(facts: Raw) -> None:
    facts["system"]["gpudirect"].update(peermem="missing", dmabuf=False, dmabuf_reason="kernel 5.4 is older than 5.12")


def _narrow(facts: Raw) -> None:
    for hca in facts["hcas"]:
        if hca["pcie_link"]:
            hca["pcie_link"].update(speed_gts=2.5, max_speed_gts=32.0, width=1, max_width=16, degraded=True)


WORSE = {
    gpu_nic.ACS: _acs_on,
    gpu_nic.IOMMU: _translated,
    gpu_nic.ORDERING: _unordered,
    gpu_nic.MEMORY: _unregistered,
    gpu_nic.LINK: _narrow,
    gpu_nic.PATH: _far,
}
NAMES = [
    "v100-01",
    "v100-02",
    "a100-01",
    "h100-01",
    "h100-03",
    "lab-01",
    "case-acs",
    "case-amd",
    "case-mi300x",
    "case-vf",
]


def _rank(verdict: str) -> int:
    return VERDICTS.index(verdict)


@given(st.sampled_from(NAMES), st.permutations(PARTS), st.integers(0, len(PARTS)))
@settings(deadline=None, max_examples=60)
def test_a_verdict_never_improves_when_a_part_gets_worse(
    facts_of: Facts, name: str, order: list[str], many: int
) -> None:
    # Which bridges are on the way is a matter of the path, so that gets worse last.
    facts = copy.deepcopy(facts_of(name))
    before = judged(facts)
    for part in sorted(order[:many], key=lambda part: part == gpu_nic.PATH):
        WORSE[part](facts)
        after = judged(facts)
        assert [each.name for each in after] == [each.name for each in before]
        for old, new in zip(before, after, strict=True):
            assert _rank(new.verdict) >= _rank(old.verdict) or part == gpu_nic.PATH
            same = {name: state for name, state in states(old).items() if name not in (part, gpu_nic.ACS)}
            assert same.items() <= states(new).items()
            was, now = (dict(states(each))[part] for each in (old, new))
            assert _rank(STATES[part][now].verdict) >= _rank(STATES[part][was].verdict)
        before = after


# Where each part comes from; without one of these it is not known.
FROM = {
    gpu_nic.PATH: [lambda facts: [entry.update(paths={}) for entry in facts["affinity"]]],
    gpu_nic.ACS: [
        lambda facts: facts["system"].update(acs={}, virtual=None),
        lambda facts: facts["system"].update(acs=dict.fromkeys(facts["system"]["acs"]), virtual=None),
    ],
    gpu_nic.IOMMU: [
        lambda facts: facts["system"].update(iommu=None, iommu_modes={}),
        lambda facts: facts["system"].update(iommu_modes=dict.fromkeys(facts["system"]["iommu_modes"])),
    ],
    gpu_nic.ORDERING: [lambda facts: facts["system"].update(relaxed_ordering={})],
    gpu_nic.MEMORY: [lambda facts: facts["system"].pop("gpudirect")],
    gpu_nic.LINK: [
        lambda facts: [gpu.update(pcie_link=None) for gpu in facts["gpus"]],
        lambda facts: [hca.update(pcie_link=None) for hca in facts["hcas"]],
    ],
}


@pytest.mark.parametrize("name", ["v100-01", "a100-01", "h100-03", "case-amd", "case-vf"])
@pytest.mark.parametrize(("part", "way"), [(part, way) for part, ways in FROM.items() for way in range(len(ways))])
def test_what_is_missing_is_never_right(facts_of: Facts, name: str, part: str, way: int) -> None:
    facts = copy.deepcopy(facts_of(name))
    FROM[part][way](facts)
    for verdict in judged(facts):
        assert STATES[part][states(verdict)[part]].verdict == "impossible"
        assert verdict.verdict != "pass"


@given(st.sampled_from(NAMES), st.lists(st.sampled_from(["hcas", "gpus", "system", "affinity"]), unique=True))
@settings(deadline=None, max_examples=40)
def test_each_pair_has_one_verdict_whatever_is_missing(facts_of: Facts, name: str, missing: list[str]) -> None:
    facts = {key: value for key, value in facts_of(name).items() if key not in missing}
    wanted = [f"GPU {entry['gpu']}/{hca}" for entry in facts.get("affinity", []) for hca in entry["nearest"]]
    found = judged(facts)
    assert [verdict.name for verdict in found] == wanted
    assert all(tuple(part.name for part in verdict.parts) == PARTS for verdict in found)
    if missing:
        assert all(verdict.verdict != "pass" for verdict in found)
    told = [check for check in checks(facts) if check.subject]
    assert sorted(pair for check in told for pair in check.evidence["pairs"]) == sorted(wanted)


def test_texts_say_what_they_are_about_and_remedies_are_sentences() -> None:
    for of_part in STATES.values():
        for state in of_part.values():
            assert (state.verdict == "warn") <= (
                state.remedy.endswith(".") or state.text.startswith(("ACS", "the IOMMU"))
            )
            assert not (state.remedy and state.verdict == "pass")
            state.text.format(about="x")
