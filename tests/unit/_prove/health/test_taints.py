# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which NICs get which rule: the budget, NICs in pods, exemptions, and NICs of which nothing is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import (
    EFFECTS,
    Policy,
    allowed,
    bars,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.taints import (
    Device,
    NicState,
    NodeState,
    Rule,
    TaintPlan,
)

DRIVER = "dra.net"
BARRING = Policy(effect="NoSchedule", budget="100%", keep=1, confirm=2)


def nic(host: str = "n1", number: int = 0, state: str = "sick", bad: int = 2, **more: Any) -> NicState:
    key = f"0000:{number:02x}:00.0"
    return NicState(host, key, f"mlx5_{number}", (key,), state, bad if state == "sick" else 0, "port_state", **more)


def device(host: str = "n1", number: int = 0, **more: Any) -> Device:
    return Device(DRIVER, host, f"pci-{number}", host, f"0000:{number:02x}:00.0", **more)


def rule(host: str = "n1", number: int = 0, effect: str = "NoSchedule") -> Rule:
    return Rule(host, f"0000:{number:02x}:00.0", DRIVER, host, f"pci-{number}", effect, "port_state")


def node(policy: Policy = BARRING, nics: int = 4, group: str = "h100", **more: Any) -> NodeState:
    functions = {nic(number=number).key: nic(number=number).functions for number in range(nics)}
    return NodeState(group, nics, policy, DRIVER, **{"functions": functions, **more})


def plan(
    *nics: NicState,
    policy: Policy = BARRING,
    devices: Sequence[Device] | None = None,
    rules: Sequence[Rule] = (),
    **more: Any,
) -> TaintPlan:
    """The plan of one node with four NICs."""
    every = [device(number=number) for number in range(4)] if devices is None else devices
    return taints.plan({"n1": node(policy, **more)}, nics, every, rules)


def effects(found: TaintPlan) -> list[str]:
    return [each.effect for each in found.rules]


def test_a_rule_informs_first_and_bars_once_it_is_confirmed() -> None:
    assert effects(plan(nic(bad=1))) == ["None"]
    assert effects(plan(nic(bad=2))) == ["NoSchedule"]
    assert effects(plan(nic(bad=2), policy=Policy())) == ["None"]


def test_a_nic_that_falls_sick_again_does_not_get_away_in_between() -> None:
    assert effects(plan(nic(state="settling"), rules=[rule()])) == ["NoSchedule"]
    assert effects(plan(nic(bad=1), rules=[rule()])) == ["NoSchedule"]


def test_a_policy_that_becomes_weaker_is_followed() -> None:
    assert effects(plan(nic(), policy=Policy(effect="None"), rules=[rule()])) == ["None"]


def test_only_a_nic_that_is_known_to_be_well_loses_its_rule() -> None:
    key = nic().key
    assert plan(rules=[rule()], well=frozenset([key])).rules == []
    # Of this one, nothing is known: its host was not looked at, or this controller is a new one.
    assert effects(plan(rules=[rule()])) == ["NoSchedule"]
    assert effects(plan(nic(state="unseen"), rules=[rule()])) == ["NoSchedule"]
    assert plan(nic(state="unseen")).rules == []


def test_a_driver_that_publishes_nothing_for_a_moment_changes_nothing() -> None:
    found = plan(nic(), devices=[], rules=[rule()])
    assert (effects(found), list(found.outcomes.values())) == (["NoSchedule"], ["left"])
    assert list(plan(nic(), devices=[]).outcomes.values()) == ["no_device"]


def test_all_functions_of_a_nic_have_a_rule() -> None:
    vf = replace(device(number=9), name="vf")
    found = plan(replace(nic(), functions=("0000:00:00.0", "0000:09:00.0")), devices=[device(), vf])
    assert [each.device for each in found.rules] == ["pci-0", "vf"]
    assert {each.nic for each in found.rules} == {"0000:00:00.0"}


def test_a_vf_that_is_sick_itself_has_one_rule_the_strongest() -> None:
    pf = replace(nic(), functions=("0000:00:00.0", "0000:01:00.0"))
    for bad, vf_bad, vf_rule in (
        (2, 2, (nic(number=1).key, "NoSchedule")),
        (2, 1, (pf.key, "NoSchedule")),
        (1, 2, (nic(number=1).key, "NoSchedule")),
    ):
        found = plan(replace(pf, bad=bad), nic(number=1, bad=vf_bad))
        assert [(each.nic, each.effect) for each in found.rules if each.device == "pci-1"] == [vf_rule]
        assert len({taints.rule_name("set", each) for each in found.rules}) == len(found.rules) == 2
        # The next run with the same looks changes nothing.
        again = taints.plan(
            {"n1": node()}, [replace(pf, bad=bad), nic(number=1, bad=vf_bad)], [device(), device(number=1)], found.rules
        )
        assert set(again.rules) == set(found.rules)


def test_a_vf_that_is_well_before_its_pf_stays_barred_as_long() -> None:
    pf = replace(nic(state="settling"), functions=("0000:00:00.0", "0000:01:00.0"))
    vf = frozenset([nic(number=1).key])
    found = plan(pf, rules=[rule(), rule(number=1)], well=vf)
    assert {each.device: each.effect for each in found.rules} == {"pci-0": "NoSchedule", "pci-1": "NoSchedule"}
    assert plan(rules=[rule(), rule(number=1)], well=vf | {pf.key}).rules == []


def test_devices_of_another_driver_or_node_are_nobodys() -> None:
    others = [replace(device(), driver="gpu.nvidia.com"), replace(device(), node="n2"), replace(device(), pci=None)]
    assert plan(nic(), devices=others).rules == []


def test_a_nic_in_a_pod_informs_only_and_keeps_what_it_has() -> None:
    held = [device(held=True)]
    found = plan(nic(), devices=held)
    assert (effects(found), list(found.outcomes.values())) == (["None"], ["held"])
    assert effects(plan(nic(), devices=held, rules=[rule()])) == ["NoSchedule"]
    evicting = replace(BARRING, effect="NoExecute")
    assert effects(plan(nic(), devices=held, rules=[rule()], policy=evicting)) == ["NoSchedule"]
    assert effects(plan(nic(), devices=held, policy=replace(evicting, held=True))) == ["NoExecute"]


def test_an_exempt_nic_has_no_rule_whatever_its_state() -> None:
    for state in ("sick", "settling", "unseen"):
        found = plan(nic(state=state, exempt="on order"), rules=[rule()])
        assert (found.rules, list(found.outcomes.values())) == ([], ["exempt"])


def test_a_strategy_without_taints_is_told() -> None:
    found = taints.plan({"n1": replace(node(), driver="")}, [nic()], [device()], [])
    assert (found.rules, list(found.outcomes.values())) == ([], ["no_taints"])


def test_rules_of_a_host_that_left_the_inventory_go_and_that_is_said() -> None:
    found = plan(rules=[rule(host="n9")])
    assert found.rules == []
    assert found.notes == ["n9: no longer in the inventory, so the rules for their NICs are removed"]


def test_the_last_nic_of_a_node_stays_unless_that_is_allowed() -> None:
    every = [nic(number=number) for number in range(4)]
    found = plan(*every)
    assert effects(found) == ["None"] * 4
    assert found.problems == [
        "n1: mlx5_0, mlx5_1, mlx5_2, mlx5_3 would be kept from new pods, but of its 4 NICs 0 are already, and"
        " rdma_health_keep is 1: nothing new is tainted on this node"
    ]
    assert effects(plan(*every, policy=replace(BARRING, keep=0))) == ["NoSchedule"] * 4


def test_what_others_keep_from_pods_counts() -> None:
    devices = [device(number=0), *(device(number=number, barred=True) for number in (1, 2, 3))]
    found = plan(nic(), devices=devices)
    assert effects(found) == ["None"]
    assert "3 are already" in found.problems[0]


def test_what_others_do_with_ports_that_are_no_nics_of_ours_does_not_count() -> None:
    devices = [device(number=number, barred=number > 3) for number in range(9)]
    assert effects(plan(nic(), devices=devices, policy=replace(BARRING, budget="1"))) == ["NoSchedule"]


def test_a_nic_that_others_keep_from_pods_counts_once_if_all_of_it_is() -> None:
    pf = nic(number=1)
    functions = {nic().key: nic().functions, pf.key: (pf.key, "0000:11:00.0", "0000:12:00.0")}
    vfs = [device(number=number, barred=True) for number in (0x11, 0x12)]
    budget = replace(BARRING, budget="1")
    for barred, expected in ((False, "NoSchedule"), (True, "None")):
        every = [device(), device(number=1, barred=barred), *vfs]
        found = plan(nic(), devices=every, policy=budget, functions=functions)
        assert effects(found) == [expected]
    assert "1 of 4 already is" in found.problems[0]
    assert effects(plan(nic(), devices=every, policy=replace(budget, budget="2"), functions=functions)) == [
        "NoSchedule"
    ]


def test_a_group_over_its_budget_keeps_what_it_has_and_others_go_on() -> None:
    names = {"a1": "a", "a2": "a", "b1": "b"}
    nodes = {name: node(replace(BARRING, budget="1"), group=group) for name, group in names.items()}
    sick = [nic("a1"), nic("a2"), nic("b1")]
    devices = [device(name) for name in names]
    found = taints.plan(nodes, sick, devices, [rule("a1")])
    assert {each.host: each.effect for each in found.rules} == {"a1": "NoSchedule", "a2": "None", "b1": "NoSchedule"}
    assert found.problems == [
        "a: 1 NIC more would be kept from new pods (a2), 1 of 8 already is, and rdma_health_budget is 1, which is 1:"
        " nothing new is tainted in this group"
    ]
    assert found.outcomes["a2", "0000:00:00.0"] == "budget"


def test_a_percentage_is_rounded_down_but_at_least_one() -> None:
    assert [allowed(*each) for each in (("10%", 160), ("10%", 19), ("10%", 5), ("0", 9), ("3", 9))] == [16, 1, 1, 0, 3]


def test_names_of_rules_are_valid_and_differ() -> None:
    long = replace(rule(), pool="n" * 250)
    names = {
        taints.rule_name("set", each)
        for each in (rule(), rule(number=1), long, replace(long, device="other"), replace(rule(), pool="n1-pci"))
    }
    assert len(names) == 5
    assert all(len(name) <= 253 for name in names)


HOSTS = ("a1", "a2", "b1")
_places = st.tuples(st.sampled_from(HOSTS), st.integers(0, 3))
_policies = st.builds(
    Policy,
    st.sampled_from(EFFECTS),
    st.sampled_from(["0", "1", "2", "10%", "50%", "100%"]),
    st.integers(0, 2),
    st.booleans(),
    st.integers(1, 2),
)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[dict[str, NodeState], list[NicState], list[Device], list[Rule]]:
    policies = {group: draw(_policies) for group in "ab"}
    states = draw(st.dictionaries(_places, st.sampled_from(["sick", "settling", "unseen"]), max_size=12))
    held, barred, exempt = (draw(st.sets(_places, max_size=4)) for _each in range(3))
    there = draw(st.dictionaries(_places, st.sampled_from(EFFECTS), max_size=6))
    nodes = {host: node(policies[host[0]], group=host[0]) for host in HOSTS}
    nics = [nic(*at, state, draw(st.integers(1, 3)), exempt="x" * (at in exempt)) for at, state in states.items()]
    devices = [
        device(host, number, held=(host, number) in held, barred=(host, number) in barred)
        for host in HOSTS
        for number in range(4)
    ]
    return nodes, nics, devices, [rule(*at, effect) for at, effect in there.items()]


@settings(deadline=None, max_examples=300)
@given(fleets())
def test_whatever_the_fleet_is_like_the_limits_hold(
    fleet: tuple[dict[str, NodeState], list[NicState], list[Device], list[Rule]],
) -> None:
    nodes, nics, devices, rules = fleet
    found = taints.plan(*fleet)
    before = {(each.host, each.nic): each.effect for each in rules}
    after = {(each.host, each.nic): each.effect for each in found.rules}
    others = {(str(each.node), str(each.pci)) for each in devices if each.barred}
    held = {(str(each.node), str(each.pci)) for each in devices if each.held}
    assert len(after) == len(found.rules)
    taken = others | {at for at, effect in after.items() if bars(effect)}
    new = {at for at in taken - others if not bars(before.get(at))}
    per_group = Counter(nodes[host].group for host, _key in taken)
    for group in {nodes[host].group for host, _key in new}:
        assert per_group[group] <= allowed(nodes[f"{group}1"].policy.budget, 4 * (2 if group == "a" else 1))
    per_node = Counter(host for host, _key in taken)
    for host in {host for host, _key in new}:
        assert nodes[host].nics - per_node[host] >= nodes[host].policy.keep
    for host, key in new & held:
        assert nodes[host].policy.held, key
    known = {(each.host, each.key): each for each in nics}
    for at, effect in after.items():
        assert not (at in known and known[at].exempt)
        # Nothing is made stronger than the group says.
        assert EFFECTS.index(effect) <= max(
            EFFECTS.index(nodes[at[0]].policy.effect), EFFECTS.index(before.get(at, "None"))
        )
    again = taints.plan(nodes, nics, devices, found.rules)
    assert sorted(again.rules, key=str) == sorted(found.rules, key=str)
    assert again.problems == found.problems
