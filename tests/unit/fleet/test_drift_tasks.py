# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The drift asks for what the roles make: the same options of the same modules, from the same variables."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables

HARMLESS = {
    "ansible.builtin.fail",
    # Of helm, whose version is asked for.
    "ansible.builtin.include_role",
    "zerocopy.rdma.plan",
}


def tasks(role: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((variables.ROLES / role / "tasks" / f"{name}.yml").read_text("utf-8"))
    return found


@pytest.mark.parametrize(("name", "comparing"), [("compare", "node"), ("revert", "revert")])
def test_nodes_are_planned_once_and_compared_by_that_plan(name: str, comparing: str) -> None:
    plan = tasks("rdma_drift", name)[0]
    (compared,) = [task for task in tasks("rdma_drift", comparing) if "zerocopy.rdma.node" in task]
    assert plan["run_once"] is True
    called = compared["zerocopy.rdma.node"]
    assert (called["compare"], called["plan"]) == (True, f"{{{{ {plan['register']}.directory }}}}")
    assert called.get("state") == plan["zerocopy.rdma.plan"].get("state")


@pytest.mark.parametrize("state", ["present", "absent"])
def test_every_part_that_is_compared_has_a_role_that_changes_it(state: str) -> None:
    roles = {
        "present": {
            "kernel": ("rdma_kernel", "modules"),
            "links": ("rdma_links", "main"),
            "runtime": ("rdma_runtime", "main"),
            "daemons": ("rdma_runtime", "daemons"),
        },
        "absent": {
            "kernel": ("rdma_kernel", "absent"),
            "links": ("rdma_links", "absent"),
            "runtime": ("rdma_runtime", "absent"),
            "daemons": ("rdma_runtime", "daemons_absent"),
        },
    }
    for part, place in roles[state].items():
        (made,) = [task["zerocopy.rdma.node"] for task in tasks(*place) if "zerocopy.rdma.node" in task]
        assert (made["parts"], made.get("state", "present")) == ([part], state)
    # With a tag, all parts that its roles change are compared.
    (compared,) = [task for task in tasks("rdma_drift", "node") if "zerocopy.rdma.node" in task]
    tagged = {part for parts in compared["vars"]["__parts"].values() for part in parts}
    assert tagged == {*roles["present"], "packages"}


@pytest.mark.parametrize(
    ("name", "tags", "parts"),
    [
        ("node", ["all"], None),
        ("node", ["drift", "links"], None),
        ("node", ["kernel", "links", "runtime"], None),
        ("node", ["kernel"], ["packages", "kernel"]),
        ("node", ["runtime", "driver"], ["runtime", "daemons"]),
        ("revert", ["prepare"], None),
        ("revert", ["kernel", "links"], ["kernel", "links"]),
    ],
)
def test_a_tag_selects_its_parts(name: str, tags: list[str], parts: Any) -> None:
    loader = DataLoader()
    path = variables.ROLES / "rdma_drift" / "tasks" / f"{name}.yml"
    found = loader.load_from_file(str(path), trusted_as_template=True)
    (compared,) = [task for task in found if "zerocopy.rdma.node" in task]
    templar = Templar(loader=loader, variables={**compared["vars"], "ansible_run_tags": tags, "omit": None})
    found = templar.template(compared["zerocopy.rdma.node"]["parts"])
    assert (found and sorted(found)) == (parts and sorted(parts))


def test_teardown_looks_at_all_nodes_before_its_first_change() -> None:
    plays = yaml.safe_load((variables.ROLES.parent / "playbooks" / "teardown.yml").read_text("utf-8"))
    first = [play["ansible.builtin.import_playbook"] for play in plays if "tasks" not in play]
    plays = plays[len(first) :]
    assert first == ["matched_hosts.yml", "access.yml"]
    assert plays[0]["tasks"].pop(0)["ansible.builtin.import_tasks"] == "tasks/tags.yml"
    every = [task for play in plays for task in play["tasks"]]
    found = [task.get("ansible.builtin.import_role") or task["ansible.builtin.include_role"] for task in every]
    roles = [(role["name"].rpartition(".")[2], role["tasks_from"]) for role in found]
    # What rdma_ofed does there is to refuse.
    looks = [("rdma_drift", "revert"), ("rdma_ofed", "absent"), ("rdma_provision", "unused")]
    assert roles[: len(looks)] == looks
    assert roles.pop() == ("rdma_drift", "reverted")
    removed = roles[len(looks) :]
    assert removed[:2] == [("rdma_health", "absent"), ("rdma_provision", "remove")]
    assert {tasks_from for _role, tasks_from in removed[2:]} == {"absent", "daemons_absent"}
    # On its own and not in waves, so that what is wrong for all is found before the first change.
    assert (len(plays[0]["tasks"]), plays[0].get("serial")) == (len(looks), None)


def test_nothing_is_removed_before_it_is_known_to_be_unused() -> None:
    assert [task["ansible.builtin.import_tasks"] for task in tasks("rdma_provision", "absent")] == [
        "unused.yml",
        "remove.yml",
    ]
    looks = tasks("rdma_provision", "unused")
    # What could change something is told not to.
    for task in looks:
        assert task.get("check_mode") is True or HARMLESS & set(task), task["name"]
    # The same steps are tried that are carried out.
    (tried,) = [task for task in looks if "zerocopy.rdma.cluster_apply" in task]
    (carried_out,) = [task for task in tasks("rdma_provision", "remove") if "zerocopy.rdma.cluster_apply" in task]
    for keyword in ("zerocopy.rdma.cluster_apply", "when", "tags"):
        assert tried[keyword] == carried_out[keyword]
    (plan,) = [task["zerocopy.rdma.plan"] for task in looks if "zerocopy.rdma.plan" in task]
    assert plan["state"] == "absent"
