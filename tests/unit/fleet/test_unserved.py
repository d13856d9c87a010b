# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Why hosts fail at the end of provision, by the plan and by what its steps have done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import no_node
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _cluster_plan, _provisioned

CHECKOUT = Path(__file__).resolve().parents[3]
MISSING = no_node("n1")


def unserved(given: dict[str, Any], result: dict[str, Any], *hosts: str) -> dict[str, list[str]]:
    """``given`` is of the plan, ``result`` of its steps."""
    return _cluster_plan.unserved(
        hosts or ["n1"], {"result": {"unprepared": {}}, "nodes": {}, "unmet": {}, **given}, result
    )


def published(unmet: dict[str, list[str]] | None = None, **own: Any) -> dict[str, Any]:
    nodes = {"n1": {"exists": True, "silent": "", "missing": [], **own}, "n2": {}}
    return {"nodes": nodes, "unmet": unmet or {}}


EXCLUDED = {"intended": True, "reason": "it carries the default route"}
RESTART = {"intended": False, "reason": "restart it"}
CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({}, {}, []),
    (published({"n2": ["n2: x"]}), {"missing": ["n2"]}, []),
    ({}, {"missing": ["n2", "n1"]}, [MISSING]),
    # Of a site that runs DRANET itself nothing is labelled. Whatever else is the matter follows from it.
    (published({"n1": ["n1: x"]}, exists=False), {}, [MISSING]),
    ({}, {"unready": {"n1": ["DaemonSet a/b: not ready"], "n2": ["c"]}}, ["n1: DaemonSet a/b: not ready"]),
    ({}, {"broken": {"n1": "n1: annotation x", "n2": "n2: y"}}, ["n1: annotation x"]),
    (
        {"result": {"unprepared": {"n1": "NRI is off", "n2": "x"}}},
        {"unready": {"n1": ["y"]}},
        ["n1: NRI is off", "n1: y"],
    ),
    (published(silent="it has no pod there"), {}, ["n1: no pod can claim its NICs: it has no pod there"]),
    (published(without_gpus="it does not run there"), {}, ["n1: no pod can claim its GPUs: it does not run there"]),
    (
        published({"n1": ["n1: x is wrong"]}, missing=[EXCLUDED, RESTART, RESTART]),
        {},
        ["n1: x is wrong, although the facts allow it: restart it"],
    ),
    (
        published({"n1": ["n1: x is wrong"]}, missing=[EXCLUDED]),
        {},
        [
            "n1: x is wrong, although the facts allow it: what its drivers publish differs from the facts, as shown"
            " above"
        ],
    ),
    # What a node says is no template.
    (
        published(silent="{{ lookup('pipe', 'id') }}"),
        {},
        ["n1: no pod can claim its NICs: { { lookup('pipe', 'id') }}"],
    ),
]


@pytest.mark.parametrize(("given", "result", "expected"), CASES)
def test_why_a_host_is_not_served(given: dict[str, Any], result: dict[str, Any], expected: list[str]) -> None:
    assert unserved(given, result).get("n1", []) == expected


def test_all_that_is_wrong_with_every_host() -> None:
    given = published(without_gpus="it does not run there")
    result = {"missing": ["n2"], "unready": {"n1": ["DaemonSet a/b: not ready"]}}
    assert unserved(given, result, "n1", "n2", "n3") == {
        "n1": ["n1: DaemonSet a/b: not ready", "n1: no pod can claim its GPUs: it does not run there"],
        "n2": [no_node("n2")],
    }
    # The result is shown as it is.
    assert result == {"missing": ["n2"], "unready": {"n1": ["DaemonSet a/b: not ready"]}}


def test_what_was_published_before_a_driver_has_changed_says_nothing() -> None:
    """The claims are planned again then, and judged by what is published at that time."""
    given = published({"n1": ["n1: x"]}, silent="it has no pod there", without_gpus="it does not run there")
    assert unserved(given, {"late": True}) == {}
    unready = {"n1": ["DaemonSet a/b: not ready"]}
    assert unserved(given, {"late": True, "unready": unready}) == {"n1": ["n1: DaemonSet a/b: not ready"]}


def test_the_role_leaves_what_is_read() -> None:
    assert set(variables.left_by()) >= {*_provisioned._RESULTS, "rdma_provision_plan"}


def tasks_of(path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((CHECKOUT / path).read_text("utf-8"))
    return found


def test_a_host_that_fails_its_check_fails_alone_and_is_left_out() -> None:
    """Neither the play nor the role stops for all, and what is applied is planned without it."""
    plays = tasks_of("playbooks/provision_cluster.yml")
    (check,) = [play for play in plays if play["name"] == "Check the nodes"]
    own = tasks_of("roles/rdma_host_device/tasks/node_check.yml")
    assert not any(each.get("any_errors_fatal") for each in (check, *own))
    again, *_others = tasks_of("roles/rdma_provision/tasks/apply.yml")
    assert again["ansible.builtin.include_tasks"]["file"] == "plan.yml"
    assert again["when"].startswith("ansible_play_hosts_all | difference(ansible_play_hosts)")


def test_a_role_on_its_own_fails_hosts_as_the_playbook_does() -> None:
    """At its end, when all other hosts have been served."""
    (play,) = tasks_of("playbooks/provision_result.yml")
    (expected,) = play["tasks"]
    *_before, last = tasks_of("roles/rdma_provision/tasks/main.yml")
    assert last["name"] == expected["name"]
    of_host = "[inventory_hostname] | join('\n') }}"
    assert last["ansible.builtin.fail"]["msg"] == "{{ __rdma_provision_unserved" + of_host
    assert last["when"] == "inventory_hostname in __rdma_provision_unserved"
    assert expected["ansible.builtin.fail"]["msg"] == "{{ hostvars['localhost'].rdma_provision_unserved" + of_host
    (noted,) = tasks_of("roles/rdma_provision/tasks/unserved.yml")
    assert noted["ansible.builtin.set_fact"] == {"rdma_provision_unserved": "{{ __rdma_provision_unserved }}"}
    assert "rdma_provision_unserved | default({}) | list" in play["hosts"]


@pytest.mark.parametrize(
    ("role", "strategy"), [(role, name) for name, one in registry.STRATEGIES.items() for role in one.roles]
)
def test_a_role_of_a_strategy_provisions_it_alone(role: str, strategy: str) -> None:
    part = "claims" if role == "rdma_claims" else "driver"
    for entry in ("main", "absent"):
        *_before, last = tasks_of(f"roles/{role}/tasks/{entry}.yml")
        found = last["ansible.builtin.import_role"]
        assert (found["name"], found.get("tasks_from", "main")) == ("zerocopy.rdma.rdma_provision", entry)
        assert last["vars"] == {"rdma_provision_strategies": [strategy], "rdma_provision_parts": [part]}


def test_no_helm_release_is_waited_for() -> None:
    """Helm would wait for all nodes, and fail for all hosts when one of them is silent."""
    waits = [
        (str(path.relative_to(variables.ROLES)), given["wait"])
        for path in sorted(variables.ROLES.glob("*/tasks/*.yml"))
        for task in yaml.safe_load(path.read_text("utf-8")) or ()
        for given in [task.get("kubernetes.core.helm", {})]
        if "wait" in given and given.get("state") != "absent"
    ]
    assert waits == []


def test_hosts_fail_after_the_summary() -> None:
    """If all hosts fail, Ansible plays nothing more."""
    plays = tasks_of("playbooks/site.yml")
    assert [play.get("ansible.builtin.import_playbook") for play in plays][-3:] == [
        "provision_cluster.yml",
        "summary.yml",
        "provision_result.yml",
    ]
