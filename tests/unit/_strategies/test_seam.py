# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A strategy is one file, one role and its entry in the registry: everything else asks for it there."""

from __future__ import annotations

import ast
import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.host_links import LinkPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import cluster_plan, node_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.steps import LabelsStep, ObjectsStep
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.daemon import StrategyDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import (
    ClusterState,
    ManifestNames,
    ObjectSet,
    StrategyPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.none import NoStrategy
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _fleet, _inventory, _program, _strategy_inventory
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._preflight import problems as prepare_problems
from ansible_collections.zerocopy.rdma.tests.unit._prove.parts import report, strategy_checks
from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies, strategy_plan

CHECKOUT = variables.ROLES.parent
ROLE = "rdma_toy"
SPECS: variables.Options = {f"{ROLE}_namespace": {"type": "str", "default": "kube-system"}}
GONE = {"state": "absent"}
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "toy", "namespace": "kube-system"}}


class Toy(NoStrategy):
    name = "toy"
    roles = (ROLE,)
    label = "zerocopy.rdma.node-restriction.kubernetes.io/toy"
    driver_set = "toy"
    manifests = ManifestNames("10-toy.yml")
    daemon = StrategyDaemon(
        "toyd",
        lambda values, _known: {"namespace": values[f"{ROLE}_namespace"]},
        lambda _values: GONE,
        lambda: b"toy",
    )

    def node_check(self, values: Mapping[str, Any]) -> str:
        return ROLE

    def charts(self, values: Mapping[str, Any]) -> Sequence[str]:
        return self.roles

    def plan(self, hosts: Sequence[InventoryHost], cluster: ClusterState, known: variables.Options) -> StrategyPlan:
        own = {host.name for host in self.own(hosts)}
        labels: dict[str, dict[str, str | None]] = {
            host.name: {self.label: "yes" if host.name in own else None} for host in hosts
        }
        return StrategyPlan(labels=labels, sets=[ObjectSet("zerocopy-rdma-toy", "kube-system", [OBJECT])])

    def one_value(self, hosts: Sequence[Mapping[str, Any]]) -> Sequence[str]:
        return tuple(SPECS)


@pytest.fixture(autouse=True)
def _sixth(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a new file, its entry in the registry and a new role bring."""
    known = {**variables.options_of(), **SPECS}
    monkeypatch.setattr(variables, "options_of", lambda: known)
    monkeypatch.setitem(registry.STRATEGIES, "toy", Toy())


def fleet(**own: Any) -> dict[str, dict[str, Any]]:
    base = {"group_names": ["h100"], "rdma_strategy": "toy", **own}
    return {host: {**base, "inventory_hostname": host} for host in ("h100-01", "h100-02")}


def inventory(**own: Any) -> list[InventoryHost]:
    return _strategy_inventory.hosts({}, list(fleet()), fleet(**own))


# A cluster that has nothing of ours, and one that has what the toy brings.
EMPTY = ClusterState(parents=(), extended_resources={}, counted=())
LABELLED = {host: {"zerocopy.rdma.node-restriction.kubernetes.io/toy": "yes"} for host in fleet()}
HAVING = ClusterState(
    labels=LABELLED, parents=[("kube-system", "zerocopy-rdma-toy")], extended_resources={}, counted=()
)


def test_it_is_provisioned() -> None:
    plan = cluster_plan.cluster_plan(inventory(), EMPTY, _inventory.options({}))
    labels = {host: {"zerocopy.rdma.node-restriction.kubernetes.io/toy": "yes"} for host in fleet()}
    assert [step for step in plan.steps if step.title.endswith("(toy)")] == [
        LabelsStep("Label the nodes (toy)", "driver", labels),
        ObjectsStep("Apply the objects (toy)", "driver", "zerocopy-rdma-toy", "kube-system", [OBJECT]),
    ]
    assert [each for each in plan.manifests if each.name == "10-toy.yml"] == [("10-toy.yml", [OBJECT], "")]
    alone = cluster_plan.cluster_plan(inventory(), EMPTY, _inventory.options({}), ["toy"])
    assert [step.title for step in alone.steps] == ["Label the nodes (toy)", "Apply the objects (toy)"]


def test_it_is_removed() -> None:
    known = _inventory.options({})
    assert cluster_plan.removal(inventory(), EMPTY, known).steps == []
    assert cluster_plan.removal(inventory(), HAVING, known).steps == [
        ObjectsStep("Remove the objects (toy)", "driver", "zerocopy-rdma-toy", "kube-system", wait=True),
        LabelsStep(
            "Remove the labels (toy)",
            "driver",
            {host: {"zerocopy.rdma.node-restriction.kubernetes.io/toy": None} for host in fleet()},
        ),
    ]


def test_its_daemon_is_on_its_nodes_alone() -> None:
    values = variables.defaults(variables.options_of())
    found = node_options.present({**values, "rdma_strategy": "toy"}, LinkPlan()).daemons or {}
    assert (found["toyd"], found["inject"]["state"]) == ({"namespace": "kube-system"}, "absent")
    for other in (node_options.present(values, LinkPlan()), node_options.absent({**values, "rdma_strategy": "toy"})):
        assert (other.daemons or {})["toyd"] == GONE
    assert (registry.with_daemon("toy"), registry.with_daemon("none")) == (True, False)


def test_the_program_of_its_daemon_goes_to_nodes_that_get_it() -> None:
    digest = hashlib.sha256(b"toy").hexdigest()
    asked: dict[str, Any] = {"toyd": {"set": "s"}, "other": {}}
    assert _program.with_digests(asked) == {"toyd": {"set": "s", "digest": digest}, "other": {}}
    assert base64.b64decode(_program.with_programs(asked)["toyd"]["program"]) == b"toy"
    assert _program.with_programs({"toyd": GONE}) == {"toyd": GONE}


def test_the_plan_names_the_role_of_its_check_and_of_its_chart() -> None:
    hosts = {**fleet(), "login": {"group_names": ["login"], "rdma_strategy": "none", "inventory_hostname": "login"}}
    found = _fleet.fleet({"hostvars": hosts, "ansible_play_hosts_all": list(hosts)})
    assert _fleet.node_checks(found) == dict.fromkeys(fleet(), ROLE)
    assert registry.charts(found.values) == [ROLE]


def test_preflight_takes_its_name_and_its_variables() -> None:
    assert prepare_problems({}, list(fleet()), fleet()) == []
    hosts = fleet()
    hosts["h100-02"]["rdma_toy_namespace"] = "mine"
    (problem,) = prepare_problems({}, list(hosts), hosts)
    assert "rdma_toy_namespace is 'kube-system' on h100-01; 'mine' on h100-02: it must be the same" in problem


def test_it_is_planned_with_the_others() -> None:
    found = strategy_plan({}, list(fleet()), fleet())
    assert {
        host: labels["zerocopy.rdma.node-restriction.kubernetes.io/toy"] for host, labels in found["labels"].items()
    } == dict.fromkeys(fleet(), "yes")
    assert found["sets"][-1]["objects"] == [OBJECT]
    told = strategies(
        {}, list(fleet()), fleet(), {"h100-01": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "h100"}}
    )
    assert "zerocopy.rdma.node-restriction.kubernetes.io/toy" in told["labels"]
    assert "but dra still serves this node" in told["problems"][0]


def test_what_its_role_did_is_told_and_judged() -> None:
    result = {"objects": [{"kind": "ConfigMap", "namespace": "kube-system", "name": "toy", "action": "configured"}]}
    steps = [{"title": "Apply the objects (toy)", "set": "zerocopy-rdma-toy", **result}]
    hosts = fleet(rdma_provision_result={"steps": steps})
    assert (
        report("site", hosts, {"ansible_play_hosts": list(hosts)})["lines"][0] == "objects of the cluster: 1 configured"
    )
    (check,) = [one for one in strategy_checks(hosts, [], []) if one["id"] == "cluster.objects"]
    assert check["text"] == "ConfigMap kube-system/toy of set zerocopy-rdma-toy was changed by hand"


def test_what_its_role_leaves_is_no_variable_of_a_user(tmp_path: Path) -> None:
    tasks = tmp_path / "rdma_toy" / "tasks"
    tasks.mkdir(parents=True)
    lines = ("- name: Apply", "  register: rdma_toy_result", "- name: Look", "  register: __rdma_toy_looked", "")
    (tasks / "provision.yml").write_text("\n".join(lines))
    (tmp_path / "rdma_toy" / "vars").mkdir()
    (tmp_path / "rdma_toy" / "vars" / "main.yml").write_text('---\nrdma_toy_plan: "{{ 1 }}"\n__rdma_toy_own: 2\n')
    assert variables.left_by(tmp_path) == ["rdma_toy_result", "rdma_toy_plan"]


# What a strategy is called outside its own rooms, and why.
ALLOWED = {
    # The default, without which no variable of a host has a meaning, is read long before there is a strategy.
    "plugins/module_utils/_inventory/variables.py": {"dra"},
    # NICs that no pod may have, whatever its strategy, are named by a variable of the driver.
    "plugins/module_utils/_strategies/base/exclusions.py": {"rdma_driver"},
    # Variables for claims, which pods of device plugins do not use.
    "plugins/module_utils/_strategies/device_plugin/groups.py": {"rdma_claims"},
    # The DeviceClass that an audit looks for in Kueue's configuration, where no group needs a strategy yet.
    "roles/rdma_audit/tasks/main.yml": {"rdma_claims"},
}


def names() -> set[str]:
    # `none` is a word of Jinja and of many options.
    return {word for word in registry.words() if word not in ("none", "toy")}


def named_in(text: str) -> set[str]:
    """Names of strategies and of their roles in a string: a role also where it begins the name of a variable."""
    roles = "|".join(role for role in registry.roles() if role != ROLE)
    found = set(re.findall(rf"(?<![a-z_])({roles})(?![a-z])", text))
    return found | {word for word in re.findall(r"'(\w+)'", text) if word in names()} | ({text} & names())


def strings_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from strings_of(key)
            yield from strings_of(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from strings_of(item)


def of_tasks() -> Iterator[tuple[Path, str]]:
    own = [variables.ROLES / role for role in registry.roles()]
    for path in [*(CHECKOUT / "playbooks").rglob("*.yml"), *variables.ROLES.glob("*/tasks/*.yml")]:
        if path.parents[1] not in own:
            yield from ((path, text) for text in strings_of(yaml.safe_load(path.read_text("utf-8"))))


# Filters of roles of strategies, and what is deeper than a strategy.
ROOMS = re.compile(r"module_utils/(_strategies/(dra|shared_device|host_device|inject)|_prepare/daemons)/")


def of_code() -> Iterator[tuple[Path, str]]:
    """Strings of code that are a name as a whole: prose is for people."""
    for path in (CHECKOUT / "plugins").rglob("*.py"):
        if not ROOMS.search(path.as_posix()):
            every = ast.walk(ast.parse(path.read_text("utf-8")))
            texts = [node.value for node in every if isinstance(node, ast.Constant) and isinstance(node.value, str)]
            yield from ((path, text) for text in texts if re.fullmatch(r"\w+", text))


def test_nothing_else_names_a_strategy() -> None:
    found: dict[str, set[str]] = {}
    for path, text in [*of_tasks(), *of_code()]:
        if named_in(text):
            found.setdefault(path.relative_to(CHECKOUT).as_posix(), set()).update(named_in(text))
    assert found == ALLOWED
