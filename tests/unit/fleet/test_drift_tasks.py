# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The drift asks for what the roles make: the same options of the same modules, from the same variables."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry

RESOURCES = "zerocopy.rdma.node_extended_resources"
HARMLESS = {
    "ansible.builtin.assert",
    "ansible.builtin.fail",
    # Of helm, whose version is asked for.
    "ansible.builtin.include_tasks",
    "zerocopy.rdma.cluster_info",
}

# Only of use to a call that changes something.
CHANGING = {"links": {"rollback_seconds", "confirm"}}


def tasks(role: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((variables.ROLES / role / "tasks" / f"{name}.yml").read_text("utf-8"))
    return found


@pytest.mark.parametrize(
    ("concern", "role", "name", "module"),
    [
        ("kernel", "rdma_kernel", "modules", "kernel_modules"),
        ("links", "rdma_links", "main", "nm_links"),
        ("runtime", "rdma_runtime", "configure", "container_runtime"),
        ("inject", "rdma_inject", "node", "inject_plugin"),
    ],
)
def test_options_are_those_of_the_role(concern: str, role: str, name: str, module: str) -> None:
    (made,) = [task[f"zerocopy.rdma.{module}"] for task in tasks(role, name) if f"zerocopy.rdma.{module}" in task]
    (compared,) = [task for task in tasks("rdma_drift", "compare") if "zerocopy.rdma.node_drift" in task]
    expected = {option: value for option, value in made.items() if option not in CHANGING.get(concern, ())}
    assert compared["vars"][f"__{concern}"] == expected


@pytest.mark.parametrize(
    ("concern", "module", "name"),
    [
        ("kernel", "kernel_modules", "absent"),
        ("links", "nm_links", "absent"),
        ("runtime", "container_runtime", "absent"),
        ("inject", "inject_plugin", "node_absent"),
    ],
)
def test_what_would_be_reverted_is_what_the_role_reverts(concern: str, module: str, name: str) -> None:
    (made,) = [
        task[f"zerocopy.rdma.{module}"] for task in tasks(f"rdma_{concern}", name) if f"zerocopy.rdma.{module}" in task
    ]
    (compared,) = [task for task in tasks("rdma_drift", "revert") if "zerocopy.rdma.node_drift" in task]
    assert compared["vars"][f"__{concern}"] == made
    # The plugin for injection is the runtime's.
    tag = "runtime" if concern == "inject" else concern
    assert f"'{tag}' in __concerns" in compared["zerocopy.rdma.node_drift"][concern]


def test_teardown_looks_at_all_nodes_before_its_first_change() -> None:
    plays = yaml.safe_load((variables.ROLES.parent / "playbooks" / "teardown.yml").read_text("utf-8"))
    assert plays[0]["tasks"].pop(0)["ansible.builtin.import_tasks"] == "tasks/parts.yml"
    every = [task for play in plays for task in play["tasks"]]
    found = [task.get("ansible.builtin.import_role") or task["ansible.builtin.include_role"] for task in every]
    roles = [(role["name"].rpartition(".")[2], role["tasks_from"]) for role in found]
    # What rdma_ofed does there is to refuse.
    looks = [("rdma_drift", "revert"), ("rdma_ofed", "absent"), *[("{{ __role }}", "unused")] * 2]
    assert roles[: len(looks)] == looks
    assert {tasks_from for _role, tasks_from in roles[len(looks) :]} == {"absent", "node_absent"}
    # On its own and not in waves, so that a bad node of the last wave stops the first one.
    assert (len(plays[0]["tasks"]), plays[0]["any_errors_fatal"], plays[0].get("serial")) == (len(looks), True, None)


@pytest.mark.parametrize("role", registry.roles())
def test_nothing_is_removed_before_it_is_known_to_be_unused(role: str) -> None:
    assert tasks(role, "absent")[0]["ansible.builtin.import_tasks"] == "unused.yml"
    # What could change something is told not to.
    for task in tasks(role, "unused"):
        assert task.get("check_mode") is True or HARMLESS & set(task), task["name"]


@pytest.mark.parametrize(("role", "label"), [("shared_device", "shared-device"), ("host_device", "host-device")])
def test_the_plugins_nodes_are_known_until_the_end(role: str, label: str) -> None:
    """By their label: the same resources on other nodes are of other plugins, and so are the pods that hold them."""
    (query,) = [task for task in tasks(f"rdma_{role}", "unused") if "zerocopy.rdma.cluster_info" in task]
    (asked,) = [task[RESOURCES] for task in tasks(f"rdma_{role}", "unused") if RESOURCES in task]
    absent = tasks(f"rdma_{role}", "absent")
    (removed,) = [place for place, task in enumerate(absent) if RESOURCES in task]
    (unlabelled,) = [place for place, task in enumerate(absent) if "zerocopy.rdma.node_labels" in task]
    assert absent[removed][RESOURCES]["label"] == f"zerocopy.rdma/{label}"
    assert f"{query['register']}.nodes" in asked["nodes"]
    assert asked["nodes"].endswith(f".offered.{role} }}}}")
    assert removed < unlabelled


def test_the_images_are_those_of_the_strategy() -> None:
    (task,) = tasks("rdma_runtime", "images")
    (compared,) = [one for one in tasks("rdma_drift", "compare") if "zerocopy.rdma.node_drift" in one]
    made = task["zerocopy.rdma.container_image"]
    assert compared["vars"]["__strategy"][3:-3] in task["loop"]
    assert "map(attribute='images') | flatten | selectattr('archive')" in task["loop"]
    assert compared["vars"]["__archived"] == "{{ __strategy.images | selectattr('archive') }}"
    assert (made["name"], made["archive"]) == ("{{ item.name }}", "{{ item.archive }}")
    assert f"map('combine', {{'runtime': {made['runtime'][3:-3]}}})" in compared["vars"]["__images"]
    assert ".images | default(" in task["vars"]["__compared"]
    assert compared["zerocopy.rdma.node_drift"]["images"].startswith("{{ __images ")


@pytest.mark.parametrize(
    ("answer", "imported"),
    [
        ({"changed": True, "error": None}, True),
        ({"changed": False, "error": None}, False),
        ({"changed": False, "error": "ctr is not there"}, True),
        # Drift was not compared.
        ({"changed": True}, True),
    ],
)
def test_images_are_imported_where_one_is_missing(answer: dict[str, Any], imported: bool) -> None:
    (task,) = tasks("rdma_runtime", "images")
    assert task["loop"].endswith(" if __needed else [] }}")
    assert " and __missing }}" in task["vars"]["__needed"]
    # A condition that is no boolean is an error since ansible-core 2.19.
    missing = NativeEnvironment(autoescape=False).compile_expression(task["vars"]["__missing"][3:-3])
    assert missing(__compared=answer) is imported
