# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Verdicts on RoCE's quality of service, of synthesised settings on a recorded node."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.read import FactsError
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._links import qos as links_qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import drift as host_drift
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import judge as host_judge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import qos as host_qos
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.evidence import HostEvidence
from ansible_collections.zerocopy.rdma.tests.unit._prove.nodes import LAB, Facts, changed, node

ETS = {"traffic_classes": list(range(8)), "algorithms": ["vendor"] * 8, "bandwidth": [100] * 8}
RIGHT: dict[str, Any] = {
    "netdev": "ens1np0",
    "dcb": "offered",
    "managed_by": "host",
    "trust": "dscp",
    "dscp": [dscp // 8 for dscp in range(64)],
    "pfc": [3],
    "ets": ETS,
    "buffers": {"of_priorities": [0, 0, 0, 1, 0, 0, 0, 0], "sizes": [20352, 242176, 0, 0, 0, 0, 0, 0]},
    "congestion": {"notify": [3], "react": [3], "cnp_dscp": 48, "cnp_priority": 6},
    "roce_tos": 106,
    "pauses_sent": [0] * 8,
    "pauses_received": [0] * 8,
    "cnp_sent": 0,
    "cnp_handled": 0,
    "ecn_marked": 0,
}
OFF: dict[str, Any] = {
    **RIGHT,
    "trust": "pcp",
    "dscp": None,
    "pfc": [],
    "roce_tos": None,
    "congestion": None,
}
INTENT = {**LAB, "rdma_links_qos": True}


def host(facts_of: Facts, qos: dict[str, Any] | None, name: str = "lab-01", **values: Any) -> HostEvidence:
    return node(changed(facts_of("lab-01"), qos=qos), host=name, **values)


def found(facts_of: Facts, qos: dict[str, Any] | None, **values: Any) -> list[tuple[str, str]]:
    return [(check.verdict, check.text) for check in host_qos.of_node(host(facts_of, qos, **values))]


def test_the_defaults_are_those_of_the_roles_specification() -> None:
    given = variables.defaults(variables.with_prefix("rdma_links_qos", variables.options_of()))
    assert given.pop("rdma_links_qos") is False
    assert links_qos.intent({"rdma_links_qos": True}) == links_qos.intent({"rdma_links_qos": True, **given})
    assert links_qos.intent(given) is None
    wanted = links_qos.intent({"rdma_links_qos": True})
    assert wanted is not None
    assert wanted.tos == 106


def test_a_port_that_is_as_wanted_passes(facts_of: Facts) -> None:
    assert found(facts_of, RIGHT, **INTENT) == [("pass", "DSCP 26 has priority 3, with PFC on it alone, on mlx5_0/1")]


def test_other_values_of_the_intent_count(facts_of: Facts) -> None:
    values = {**INTENT, "rdma_links_qos_priority": 5, "rdma_links_qos_dscp": 40}
    ((verdict, text),) = found(facts_of, RIGHT, **values)
    assert verdict == "fail"
    assert text.endswith(
        "has PFC on 3 instead of on 5 alone, RDMA-CM's type of service 106 instead of 162, "
        "no CNPs sent for priority 5, no reaction to CNPs on priority 5"
    )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"trust": "pcp", "dscp": None}, "trust pcp instead of dscp"),
        ({"dscp": None}, "priority 0 for DSCP 26 instead of 3, priority 0 for DSCP 48 instead of 6"),
        ({"dscp": [3] * 64}, "priority 3 for DSCP 48 instead of 6"),
        ({"dscp": []}, "priority 0 for DSCP 26 instead of 3, priority 0 for DSCP 48 instead of 6"),
        ({"pfc": []}, "PFC on none instead of on 3 alone"),
        ({"pfc": [3, 4]}, "PFC on 3, 4 instead of on 3 alone"),
        ({"pfc": None}, "no PFC instead of on 3 alone"),
        ({"roce_tos": 0}, "RDMA-CM's type of service 0 instead of 106"),
        ({"congestion": {"notify": [], "react": [3], "cnp_dscp": 48}}, "no CNPs sent for priority 3"),
        ({"congestion": {"notify": [3], "react": [0], "cnp_dscp": 48}}, "no reaction to CNPs on priority 3"),
        ({"congestion": {"notify": [3], "react": [3], "cnp_dscp": 0}}, "CNPs with DSCP 0 instead of 48"),
    ],
)
def test_what_is_wrong_is_named(facts_of: Facts, other: dict[str, Any], said: str) -> None:
    ((verdict, text),) = found(facts_of, {**RIGHT, **other}, **INTENT)
    assert (verdict, text) == ("fail", f"mlx5_0/1 (ens1np0) has {said}")


@pytest.mark.parametrize(
    ("other", "own"),
    [
        ({}, 0),
        ({"ets": None}, 0),
        ({"ets": {**ETS, "traffic_classes": [0, 1, 2]}}, 0),
        ({"ets": {**ETS, "traffic_classes": [9] * 8}}, 0),
        ({"ets": {**ETS, "algorithms": ["ets"] * 8, "bandwidth": [12] * 8}}, 12),
        (
            {"ets": {"traffic_classes": [0] * 8, "algorithms": ["ets"] * 8, "bandwidth": [100] + [0] * 7}},
            0,
        ),
        ({"ets": {**ETS, "algorithms": ["ets"] * 8, "bandwidth": [7, 7, 7, 51, 7, 7, 7, 7]}}, None),
    ],
)
def test_a_share_of_the_bandwidth(facts_of: Facts, other: dict[str, Any], own: int | None) -> None:
    texts = [
        text
        for verdict, text in found(facts_of, {**RIGHT, **other}, **INTENT, rdma_links_qos_bandwidth=50)
        if verdict == "fail"
    ]
    said = f"mlx5_0/1 (ens1np0) has {own} % of the bandwidth for priority 3 alone instead of 50 %"
    assert texts == ([] if own is None else [said])


@pytest.mark.parametrize(
    ("dcb", "said"),
    [
        ("not_offered", "its driver, or the kernel, offers no Data Center Bridging (DCB)"),
        ("away", "its netdev is not on the host"),
        ("not_asked", "a recorded node cannot be asked"),
        ("refused", "the kernel did not answer"),
    ],
)
def test_a_port_without_dcb_is_unknown_and_never_passes(facts_of: Facts, dcb: str, said: str) -> None:
    told = found(facts_of, {"netdev": "ens1np0", "dcb": dcb, "roce_tos": 106}, **INTENT)
    assert told == [("impossible", f"it is unknown whether mlx5_0/1 (ens1np0) is lossless: {said}")]
    # What is known is judged all the same.
    told = found(facts_of, {"netdev": "ens1np0", "dcb": dcb, "roce_tos": 0}, **INTENT)
    assert [verdict for verdict, _text in told] == ["fail", "impossible"]


def test_facts_without_it_are_unknown(facts_of: Facts) -> None:
    assert [verdict for verdict, _text in found(facts_of, None, **INTENT)] == ["impossible"]


def test_what_nobody_could_read_is_said_beside_what_is_right(facts_of: Facts) -> None:
    told = found(facts_of, {**RIGHT, "roce_tos": None, "congestion": {"cnp_dscp": 48}}, **INTENT)
    assert [verdict for verdict, _text in told] == ["impossible", "pass"]
    assert told[0][1] == (
        "unknown of mlx5_0/1 (ens1np0): RDMA-CM's type of service (its directory in configfs does not exist), "
        "whether CNPs are sent and obeyed"
    )


def test_firmware_that_agrees_with_the_switch_is_said(facts_of: Facts) -> None:
    told = host_qos.of_node(host(facts_of, {**RIGHT, "managed_by": "firmware"}, **INTENT))
    assert [check.verdict for check in told] == ["warn", "pass"]
    assert told[0].remedy == "Let the host manage them: dcb dcbx set dev ens1np0 host ieee."


@pytest.mark.parametrize(
    ("qos", "said"),
    [
        (RIGHT, None),
        (OFF, None),
        ({**RIGHT, "pfc": [3, 4]}, "PFC on priorities 3, 4: RoCE needs one"),
        ({**OFF, "pfc": [3]}, "PFC on priority 3, but trusts pcp"),
        ({**RIGHT, "roce_tos": 0}, "PFC on priority 3, but RDMA-CM's type of service 0 (DSCP 0) has priority 0"),
        ({**RIGHT, "roce_tos": 106, "dscp": [0] * 64}, "type of service 106 (DSCP 26) has priority 0"),
        ({**RIGHT, "dcb": "not_offered", "pfc": None, "trust": None}, None),
    ],
)
def test_without_intent_only_what_cannot_work_is_said(facts_of: Facts, qos: dict[str, Any], said: str | None) -> None:
    told = found(facts_of, qos, **LAB)
    assert [verdict for verdict, _text in told] == ([] if said is None else ["warn"])
    assert said is None or said in told[0][1]


def _paused(facts_of: Facts, now: tuple[int, int | None], before: tuple[int, int] | None) -> list[Check]:
    def qos(pauses: int, cnps: int | None) -> dict[str, Any]:
        return {**RIGHT, "pauses_received": [0, 0, 0, pauses, 0, 0, 0, 0], "cnp_handled": cnps}

    own = host(facts_of, qos(*now), **LAB)
    own.earlier = None if before is None else host(facts_of, qos(*before), **LAB).facts
    return [check for check in host_qos.of_node(own) if check.id == "host.pauses"]


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        ((20, 0), None, "was paused 20 times since its counters began, and got no CNP"),
        ((20, 1), None, None),
        ((0, 0), None, None),
        # What happened before does not count where the beginning is known.
        ((20, 5), (15, 5), "was paused 5 times while verify ran, and got no CNP"),
        ((20, 6), (15, 5), None),
        ((15, 0), (15, 0), None),
        ((3, 0), (15, 0), None),
        ((20, None), (15, 0), None),
    ],
)
def test_pauses_without_cnps(facts_of: Facts, now: Any, before: Any, said: str | None) -> None:
    told = _paused(facts_of, now, before)
    assert [check.verdict for check in told] == ([] if said is None else ["warn"])
    assert said is None or said in told[0].text


def _group(facts_of: Facts, other: dict[str, Any], **values: Any) -> list[str]:
    hosts = [host(facts_of, RIGHT, name=f"lab-{number:02}", **LAB, **values) for number in range(1, 5)]
    hosts.append(host(facts_of, {**RIGHT, **other}, name="lab-05", **LAB, **values))
    told = list(host_qos.of_fleet(hosts))
    assert {(check.host, check.verdict) for check in told} <= {("lab-05", "warn")}
    return [check.text for check in told]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, None),
        ({"pfc": []}, "has PFC none, most ports of group lab have 3"),
        ({"trust": "pcp"}, "has trust pcp, most ports of group lab have dscp"),
        ({"dscp": [0] * 64}, "has DSCP map all to 0, most ports of group lab have 8-15 to 1, 16-23 to 2, "),
        ({"roce_tos": 104}, "has RDMA-CM's type of service 104, most ports of group lab have 106"),
        ({"dcb": "not_offered"}, "has DCB not offered, most ports of group lab have offered"),
        ({"buffers": {"of_priorities": [0] * 8, "sizes": [262144]}}, "has buffers 262144, most"),
        (
            {"ets": {"traffic_classes": [0], "algorithms": ["ets", "strict"], "bandwidth": [100, 0]}},
            "has ETS traffic classes 0 (ets 100, strict), most",
        ),
        # Unknown is not different.
        ({"dcb": "away"}, None),
        ({"roce_tos": None, "buffers": None, "ets": None}, None),
    ],
)
def test_who_differs_from_its_group(facts_of: Facts, other: dict[str, Any], said: str | None) -> None:
    told = [text for text in _group(facts_of, other) if said is None or said in text]
    assert len(told) == (0 if said is None else 1)


def test_what_the_intent_judges_is_not_said_twice(facts_of: Facts) -> None:
    assert _group(facts_of, {"pfc": [], "trust": "pcp", "roce_tos": 0}, rdma_links_qos=True) == []
    assert len(_group(facts_of, {"buffers": {"of_priorities": [], "sizes": [1]}}, rdma_links_qos=True)) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"dscp": [0] * 65},
        {"pfc": ["3"]},
        {"pauses_received": [-1]},
        {"ets": {**ETS, "algorithms": ["x" * 9000]}},
        {"buffers": {"sizes": None}},
    ],
)
def test_nonsense_of_a_node_is_refused(facts_of: Facts, other: dict[str, Any]) -> None:
    with pytest.raises(FactsError, match="qos"):
        host(facts_of, {**RIGHT, **other})


def test_drift_tells_only_what_the_facts_do_not(facts_of: Facts) -> None:
    changes = [{"kind": "qos", "name": "ens1np0 RDMA-CM type of service", "before": "unknown", "after": "106"}]
    for qos, expected in ((RIGHT, ["ens1np0 RDMA-CM type of service"]), ({**RIGHT, "pfc": []}, [])):
        own = host(facts_of, qos, **INTENT)
        own.drift = {"links": {"changes": changes}}
        assert [check.subject for check in host_drift.of_node(own) if check.id == "host.qos"] == expected


def test_verify_and_health_judge_it(facts_of: Facts) -> None:
    looks = host_judge.of_looks([host(facts_of, {**RIGHT, "pfc": []}, **INTENT)])
    assert [check.subject for check in looks if check.id == "host.qos" and check.verdict == "fail"] == ["mlx5_0/1"]
