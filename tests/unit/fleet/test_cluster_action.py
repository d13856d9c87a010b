# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the controller makes of the inventory, of facts and of one look at the cluster, before and after the steps."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible import constants
from ansible.errors import AnsibleError

from ansible_collections.zerocopy.rdma.plugins.action import cluster_apply as apply_action
from ansible_collections.zerocopy.rdma.plugins.action import plan as plan_action
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.cluster_plan import Manifest
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import RunPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import no_node
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import (
    _cluster_look,
    _cluster_plan,
    _fleet,
    _manifest_files,
    _plan_files,
)
from ansible_collections.zerocopy.rdma.tests.unit import action_options
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.resource_slices import resource_slices
from ansible_collections.zerocopy.rdma.tests.unit.fleet.cluster_fleet import NEEDED, Facts

ARCHIVE = {"rdma_shared_device_archive": "/srv/plugin.tar"}
NODE = {"exists": True, "silent": "", "missing": []}


def task_vars(check: bool = False, play: dict[str, Any] | None = None, **hosts: dict[str, Any]) -> dict[str, Any]:
    hostvars = {
        name.replace("_", "-"): {"inventory_hostname": name.replace("_", "-"), "group_names": ["ib"], **own}
        for name, own in hosts.items()
    }
    names = list(hostvars)
    return {
        "hostvars": hostvars,
        "ansible_play_hosts_all": names,
        "inventory_hostname": names[0],
        "ansible_check_mode": check,
        **(play or {}),
    }


def fleet_of(**own: Any) -> _fleet.Fleet:
    return _fleet.fleet(task_vars(**own))


def shared(**own: Any) -> dict[str, Any]:
    return {"rdma_strategy": "shared_device", **ARCHIVE, **own}


def drift(images: dict[str, Any], differs: bool = True) -> dict[str, Any]:
    return {"rdma_drift_result": {"differs": differs, "concerns": {"images": images}}}


@pytest.mark.parametrize(
    ("own", "imported"),
    [
        (shared(), True),
        (shared(**drift({"changed": True, "error": None})), True),
        (shared(**drift({"changed": False, "error": None})), False),
        (shared(**drift({"changed": False, "error": "ctr is not there"})), True),
        # Drift was not compared.
        (shared(**drift({"changed": True})), True),
        (shared(rdma_drift_result={"skipped": True}), True),
        # It is pulled; there is no runtime of ours; a recorded node runs nothing.
        (shared(rdma_shared_device_archive=""), False),
        (shared(rdma_runtime_flavour="none"), False),
        (shared(rdma_discover_root="/srv/recorded"), False),
        ({**shared(), "rdma_strategy": "none"}, False),
    ],
)
def test_images_are_imported_where_one_is_missing(own: dict[str, Any], imported: bool) -> None:
    assert _fleet.with_images(fleet_of(n1=own, n2={})) == ["n1"] * imported


@pytest.mark.parametrize(
    ("own", "needed"),
    [
        ({"rdma_strategy": "host_device"}, True),
        ({"rdma_strategy": "sriov"}, True),
        ({"rdma_strategy": "sriov", "rdma_host_device_provider": "sriov_operator"}, False),
        ({"rdma_strategy": "host_device", "rdma_discover_root": "/srv/recorded"}, False),
        ({"rdma_strategy": "shared_device"}, False),
        ({}, False),
    ],
)
def test_nodes_that_have_to_pass_a_check(own: dict[str, Any], needed: bool) -> None:
    found = _fleet.node_checks(fleet_of(n1=own, n2={}))
    assert found == ({"n1": "rdma_host_device"} if needed else {})
    for role in found.values():
        assert (variables.ROLES / role / "tasks" / "node_check.yml").is_file()


def kernel(*kinds: str, differs: bool | None = None) -> dict[str, Any]:
    own: dict[str, Any] = {"rdma_kernel_result": {"changes": [{"kind": kind} for kind in kinds]}}
    return own if differs is None else {**own, "rdma_drift_result": {"differs": differs}}


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (kernel("module"), True),
        (kernel("file", "netns"), True),
        # What is only read at boot.
        (kernel("file", "initramfs"), False),
        (kernel(), False),
        ({"rdma_kernel_result": {"skipped": True}}, False),
        ({}, False),
        (kernel("module", differs=True), True),
        # Of an earlier run in this process.
        (kernel("module", differs=False), False),
    ],
)
def test_drivers_start_anew_where_the_running_kernel_was_changed(own: dict[str, Any], expected: bool) -> None:
    every = fleet_of(n1=own, n2={})
    assert _fleet.restarted(every.context["hostvars"], every.hosts) == ["n1"] * expected


def test_what_is_asked_of_the_cluster() -> None:
    asked = _cluster_look.question(fleet_of(n1={"rdma_strategy": "shared_device"}), False, False, False, [])
    # ResourceSlices are nobody's business there.
    assert (asked["resource_api"], "published" in asked) == (False, False)
    assert [each["name"] for each in asked["sets"]] == [
        "zerocopy-rdma-driver",
        "zerocopy-rdma-claims",
        "zerocopy-rdma-shared-device",
        "zerocopy-rdma-host-device",
        # It may have been made for an earlier inventory.
        "zerocopy-rdma-topology",
    ]
    asked = _cluster_look.question(fleet_of(n1={"rdma_claims_wait_timeout": 7}), True, True, True, [])
    assert (asked["resource_api"], asked["published"]) == (True, {"expected": {}, "wait": True, "wait_timeout": 7})
    assert "published" not in _cluster_look.question(fleet_of(n1={}), True, False, False, [])


def published(facts_of: Facts, *drivers: str, exists: bool = True) -> bool:
    own = {**NEEDED["dra"], "ansible_facts": {"rdma": facts_of("v100-01")}}
    slices = resource_slices(SliceDevice(driver, "n1", "eth9", "n1", {"dra.net/rdma": True}) for driver in drivers)
    answer = {"published": {"slices": slices, "nodes": {"n1": {"exists": exists}}}}
    return _cluster_look.late(fleet_of(n1=own), answer)


def test_claims_are_late_as_long_as_a_driver_is_to_publish(facts_of: Facts) -> None:
    assert published(facts_of)
    assert published(facts_of, "gpu.nvidia.com")
    assert not published(facts_of, "dra.net")
    # A host that is no node is not waited for.
    assert not published(facts_of, exists=False)
    assert not _cluster_look.late(fleet_of(n1={}), {})


@pytest.fixture(autouse=True)
def of_this_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where Ansible keeps what it removes at the end of a run."""
    directory = tmp_path / "run"
    directory.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(directory))


def test_the_plan_of_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    content = {"steps": [{"kind": "labels"}], "late": False}
    directory = Path(_plan_files.write(RunPlan(cluster=content)))
    (path,) = directory.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert _plan_files.cluster_plan(str(directory)) == content
    path.write_text("no plan")
    for wrong in (directory, tmp_path):
        with pytest.raises(AnsibleError, match="which has no plan of this run for the cluster"):
            _plan_files.cluster_plan(str(wrong))


def test_manifests_have_no_anchors() -> None:
    same = {"a": ["b"]}
    text = _cluster_plan.content(
        Manifest("10-driver.yml", [{"apiVersion": "v1", "kind": "ConfigMap", "x": same, "y": same}], "# Why\n")
    )
    assert text == "# Why\n---\napiVersion: v1\nkind: ConfigMap\nx:\n  a:\n  - b\ny:\n  a:\n  - b\n"
    assert _cluster_plan.content(Manifest("10-driver.yml", [], "# Why\n")) == ""


def written(directory: Path, check: bool = False, **contents: str) -> dict[str, Any]:
    manifests = [{"name": f"{name}.yml", "content": content} for name, content in contents.items()]
    return _manifest_files.written({"directory": str(directory), "manifests": manifests}, check)


def test_manifests_are_written_where_they_differ(tmp_path: Path) -> None:
    target = tmp_path / "new" / "manifests"
    assert written(target, check=True, a="one", b="")["manifests"] == [str(target / "a.yml")]
    assert not target.exists()
    first = written(target, a="one", b="two", c="")
    assert (first["changed"], first["manifests"]) == (True, [str(target / "a.yml"), str(target / "b.yml")])
    assert [(each["before"], each["after"]) for each in first["diff"]] == [("", "one"), ("", "two")]
    assert stat.S_IMODE((target / "a.yml").stat().st_mode) == 0o644
    # Those of earlier runs go, and files of others stay.
    (target / "theirs.yml").write_text("x")
    again = written(target, a="one", b="", c="three")
    assert again["manifests"] == [str(target / "b.yml"), str(target / "c.yml")]
    assert {path.name: path.read_text() for path in target.iterdir()} == {
        "a.yml": "one",
        "c.yml": "three",
        "theirs.yml": "x",
    }
    assert not written(target, a="one", b="", c="three")["changed"]


class Modules:
    """Stands for the module that an action calls."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.called: list[dict[str, Any]] = []

    def __call__(self, name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        self.called.append({"name": name, **module_args})
        return dict(self.answer)

    @property
    def looks(self) -> int:
        return sum(asked["name"] == "zerocopy.rdma.cluster_info" for asked in self.called)


def acted(action: Any, modules: Modules, variables: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    if action is plan_action:
        arguments.setdefault("parts", ["cluster"])
    return action_options.acted(action, variables, modules, **arguments)


ANSWER: dict[str, Any] = {
    "kubernetes": "v1.36.3",
    "administrator": False,
    "networks": {"pods": [], "services": []},
    "held": {},
    "daemon_sets": [],
    "kinds": [],
    "objects": [],
    "nodes": {"n1": {}},
    "parents": [],
    "others": [],
    "extended_resources": {},
    "allocatable": {},
    "counted": [],
    "leaf_labelled": [],
}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        # As ansible-core from 2.19 on has a crash, and as text.
        ({"failed": True, "exception": SimpleNamespace(event=SimpleNamespace(msg="no iterable"))}, "no iterable"),
        ({"failed": True, "exception": "Traceback: no iterable"}, "Traceback: no iterable"),
    ],
)
def test_a_crash_is_not_told_as_no_answer(answer: dict[str, Any], why: str) -> None:
    found = acted(plan_action, Modules(answer), task_vars(n1={}))
    assert found["msg"].startswith(f"Nothing was changed. zerocopy.rdma.cluster_info has crashed: {why}. ")


class Refusing(Modules):
    """Of a user who lacks a right, and may not even look where ``status`` is 403."""

    def __init__(self, status: int) -> None:
        super().__init__({**ANSWER, **({"failed": True, "msg": "no", "status": status} if status else {})})

    def __call__(self, name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        answer = super().__call__(name, module_args, task_vars)
        return {"denied": ["no right to x"]} if name.endswith("cluster_rights_info") else answer


def test_rights_are_asked_for_what_is_planned(facts_of: Facts) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}

    def asked(check: bool = False, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        modules = Refusing(0)
        found = acted(plan_action, modules, task_vars(check, n1=own), **options)
        return found, [step for each in modules.called for step in each.get("steps", [])]

    # An administrator has all rights.
    modules = Modules({**ANSWER, "administrator": True})
    assert acted(plan_action, modules, task_vars(n1=own), rights=["driver"])["problems"] == []
    assert [each["name"] for each in modules.called] == ["zerocopy.rdma.cluster_info"]
    # Nobody is going to change anything, or only claims, of which there are none.
    for parts in ([], ["claims"]):
        found, wanted = asked(rights=parts)
        assert (found["problems"], wanted) == ([], [])
    found, wanted = asked(rights=["driver", "claims"])
    assert found["problems"] == ["no right to x"]
    assert {step["kind"] for step in wanted} >= {"labels", "objects"}
    assert all("(shared_device)" in step["title"] for step in wanted)
    # What does not differ needs no right.
    found, _wanted = asked(check=True, rights=["driver"])
    assert (found["problems"], found["warnings_shown"][-1:]) == ([], ["no right to x"])


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(
    ("deploys", "moment", "refused"),
    [
        # The chart brings the class, before claims are applied.
        (True, {}, False),
        (True, {"check": True}, False),
        (False, {}, True),
        # Then the chart was deployed.
        (True, {"wait": True}, True),
        (True, {"published": True}, True),
    ],
)
def test_a_class_is_missing_only_if_no_chart_brings_it(
    facts_of: Facts, waits: bool, deploys: bool, moment: dict[str, Any], refused: bool
) -> None:
    facts = {"ansible_facts": {"rdma": facts_of("v100-01")}}
    templates = [{"name": "one", "gpus": 1, "nics": 1}]
    own = {**facts, "rdma_strategy": "dra", "rdma_claims_templates": templates, "rdma_wait": waits}
    seen = {"slices": [], "nodes": {"n1": NODE}, "device_classes": [], "kubernetes": "1.36"}
    options = {name: value for name, value in moment.items() if name != "check"}
    variables_of = task_vars("check" in moment, n1={**own, "rdma_driver_gpu_deploy": deploys})
    plan = acted(plan_action, Modules({**ANSWER, "published": seen}), variables_of, **options)
    said = [problem for problem in plan["problems"] if "which is not a DeviceClass of the cluster" in problem]
    assert bool(said) == refused, plan["problems"]


@pytest.mark.parametrize("state", ["present", "absent"])
def test_who_may_not_look_is_told_all_rights_at_once(facts_of: Facts, state: str) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    modules = Refusing(403)
    found = acted(plan_action, modules, task_vars(n1=own), state=state, rights=["driver"])
    assert (found["failed"], found["msg"]) == (True, "Nothing was changed. Fix this first:\nno right to x")
    assert modules.called[1]["look"]["sets"]
    titles = [step["title"] for step in modules.called[1]["steps"]]
    assert ("Apply the objects (shared_device)" in titles) == (state == "present")
    assert ("Remove the objects (shared_device)" in titles) == (state == "absent")


def test_site_asks_at_first_only_whether_the_api_server_will_do() -> None:
    for own, needed in (({}, True), ({"rdma_strategy": "inject"}, False)):
        modules = Modules(ANSWER)
        assert acted(plan_action, modules, task_vars(n1=own), parts=["api"])["problems"] == []
        assert modules.called == [{"name": "zerocopy.rdma.cluster_info", "resource_api": needed, "api_only": True}]


@pytest.mark.parametrize(("first", "said"), [("", "Nothing was changed."), ("plan", "Nothing more was changed.")])
def test_what_may_have_been_changed_before_is_not_denied(facts_of: Facts, first: str, said: str) -> None:
    """With the plan of before, which site and claims have, nodes or drivers may have been changed since."""
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    before = acted(plan_action, Modules(ANSWER), task_vars(n1=own))["directory"] if first else ""
    found = acted(
        plan_action, Modules({"failed": True, "msg": "No route to host."}), task_vars(n1=own), plan=before, wait=True
    )
    assert found["msg"].startswith(f"{said} No route to host. ")
    found = acted(plan_action, Refusing(403), task_vars(n1=own), plan=before, wait=True, rights=["driver"])
    assert found["msg"] == f"{said} Fix this first:\nno right to x"


@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize("answer", [{"failed": True, "msg": "No route to host."}, {"msg": "No route to host"}])
def test_nothing_is_planned_without_a_usable_api_server(state: str, answer: dict[str, Any]) -> None:
    found = acted(plan_action, Modules(answer), task_vars(n1={}), state=state)
    assert (found["failed"], found["msg"]) == (
        True,
        "Nothing was changed. No route to host. With rdma_cluster=none, manifests are written instead.",
    )


def test_a_plan_and_what_becomes_of_it(facts_of: Facts) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    modules = Modules(ANSWER)
    parts = ["driver"]
    plan = acted(plan_action, modules, task_vars(n1=own, n2=own), kubeconfig="/etc/admin.conf", rights=parts)
    assert (plan["problems"], plan["late"], plan["cluster"]) == ([], False, True)
    assert [(asked["name"], asked["kubeconfig"]) for asked in modules.called] == [
        ("zerocopy.rdma.cluster_info", "/etc/admin.conf"),
        ("zerocopy.rdma.cluster_rights_info", "/etc/admin.conf"),
    ]
    done = Modules({"changed": True, "late": True, "missing": ["n2"], "unready": {}, "broken": {}, "steps": []})
    found = acted(apply_action, done, task_vars(n1=own), plan=plan["directory"], parts=["claims"])
    assert done.called[0]["steps"] == []
    found = acted(apply_action, done, task_vars(n1=own), plan=plan["directory"], context="lab")
    assert [step["title"] for step in done.called[1]["steps"]] == [
        "Label the nodes (shared_device)",
        "Apply the objects (shared_device)",
    ]
    assert done.called[1]["context"] == "lab"
    assert found["unserved"] == {"n2": [no_node("n2")]}
    failed = acted(apply_action, Modules({"failed": True, "msg": "no"}), task_vars(n1=own), plan=plan["directory"])
    assert (failed["failed"], "unserved" in failed) == (True, False)


def test_a_cluster_has_one_value_of_rdma_hosts(facts_of: Facts) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}

    def problems(others: list[str], **play: str) -> list[str]:
        found = [{"name": name, "namespace": "kube-system"} for name in others]
        plan = acted(plan_action, Modules({**ANSWER, "others": found}), task_vars(False, play, n1=own))
        return [str(problem) for problem in plan["problems"]]

    (said,) = problems(["zerocopy-rdma-driver"], rdma_hosts="v100", rdma_set="zerocopy-rdma-v100")
    assert said.startswith("rdma_hosts is 'v100', but the cluster has sets of objects from runs with another value")
    assert "(kube-system/zerocopy-rdma-driver)" in said
    (said,) = problems(["zerocopy-rdma-h100-claims", "zerocopy-rdma-h100-driver"])
    assert said.startswith("rdma_hosts is 'all', but the cluster has sets of objects from runs with another value")
    assert "(kube-system/zerocopy-rdma-h100-claims, kube-system/zerocopy-rdma-h100-driver)" in said
    # Sets that users make with the module, or under a prefix of their own.
    assert problems(["settings", "zerocopy-rdma-notes", "mine-driver"]) == []
    assert problems(["zerocopy-rdma-driver"], rdma_set="mine") == []


def test_a_removal_leaves_no_sets_of_another_value_under_nodes_that_are_reverted(facts_of: Facts) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}

    def problems(others: list[str], parents: list[str], options: dict[str, Any], **play: str) -> list[str]:
        there, more = ([{"name": name, "namespace": "kube-system"} for name in names] for names in (parents, others))
        modules = Modules({**ANSWER, "parents": there, "others": more})
        plan = acted(plan_action, modules, task_vars(False, play, n1=own), state="absent", **options)
        return [str(problem) for problem in plan["problems"]]

    v100 = {"rdma_hosts": "v100", "rdma_set": "zerocopy-rdma-v100"}
    for options in ({}, {"strategies": ["shared_device"]}):
        assert problems(["zerocopy-rdma-v100-claims", "zerocopy-rdma-v100-driver"], [], options) == [
            "rdma_hosts is 'all', but the cluster has sets of objects from runs with another value "
            "(kube-system/zerocopy-rdma-v100-claims, kube-system/zerocopy-rdma-v100-driver) and none from runs with "
            "this value. Run teardown with the value of these sets"
        ]
        (said,) = problems(["zerocopy-rdma-driver"], [], options, **v100)
        assert said.startswith("rdma_hosts is 'v100', but the cluster has sets of objects from runs with another value")
        # Each of two values can go first, and so can one strategy of several.
        assert problems(["zerocopy-rdma-v100-driver"], ["zerocopy-rdma-driver"], options) == []
        assert problems(["zerocopy-rdma-driver"], ["zerocopy-rdma-v100-driver"], options, **v100) == []
        # A run that is repeated, and a cluster that was never provisioned.
        assert problems([], [], options) == []
        assert problems(["settings", "mine-driver"], [], options) == []


def test_without_a_cluster_manifests_are_written(facts_of: Facts, tmp_path: Path) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    play = {"rdma_cluster": "none", "rdma_manifests": str(tmp_path / "manifests")}
    modules = Modules({})
    for check in (True, False):
        plan = acted(plan_action, modules, task_vars(check, play, n1=own))
        found = acted(apply_action, modules, task_vars(check, play, n1=own), plan=plan["directory"])
        assert (found["changed"], found["unserved"]) == (True, {})
        assert (tmp_path / "manifests").exists() is not check
    assert modules.called == []
    labels = (tmp_path / "manifests" / "node-labels-shared-device.yml").read_text()
    assert [item["metadata"]["name"] for item in yaml.safe_load_all(labels)] == ["n1"]


def test_a_host_that_failed_stays_as_it_is_and_the_plan_is_not_that_of_before(facts_of: Facts, tmp_path: Path) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    play: dict[str, Any] = {"rdma_cluster": "none", "rdma_manifests": str(tmp_path)}

    def planned(earlier: str = "", *alive: str) -> dict[str, Any]:
        run = {**play, **({"ansible_play_hosts": list(alive)} if alive else {})}
        found = acted(plan_action, Modules({}), task_vars(False, run, n1=own, n2=own, n3=own), plan=earlier)
        acted(apply_action, Modules({}), task_vars(False, run, n1=own), plan=found["directory"])
        return found

    first = planned()
    assert (first["left_out"], planned(first["directory"])["directory"]) == ([], first["directory"])
    # Its mark is that of the first use.
    first = planned()
    again = planned(first["directory"], "n1", "n3")
    assert (again["left_out"], again["directory"] == first["directory"]) == (["n2"], False)
    labels = yaml.safe_load_all((tmp_path / "node-labels-shared-device.yml").read_text())
    assert [item["metadata"]["name"] for item in labels] == ["n1", "n3"]
    assert any(text.startswith("n2: left as it is in the cluster") for text in again["warnings_shown"])


def test_manifests_of_an_earlier_run_say_which_nics_a_driver_leaves_out(facts_of: Facts, tmp_path: Path) -> None:
    """There is no cluster to ask. A node without facts keeps what it needs itself, and gets no label."""
    facts = {name: {"ansible_facts": {"rdma": facts_of(name)}} for name in ("a100-01", "v100-01")}
    play = {"rdma_cluster": "none", "rdma_manifests": str(tmp_path)}

    def provisioned(**hosts: dict[str, Any]) -> tuple[list[str], str]:
        plan = acted(plan_action, Modules({}), task_vars(False, play, **hosts))
        assert plan["problems"] == []
        acted(apply_action, Modules({}), task_vars(False, play, **hosts), plan=plan["directory"])
        labels = yaml.safe_load_all((tmp_path / "node-labels.yml").read_text())
        return [item["metadata"]["name"] for item in labels], (tmp_path / "10-driver.yml").read_text()

    both = provisioned(n1=facts["a100-01"], n2=facts["v100-01"])
    assert both[0] == ["n1", "n2"]
    assert provisioned(n1={}, n2=facts["v100-01"]) == (["n2"], both[1])


def test_problems_leave_no_plan(facts_of: Facts) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    served = {**ANSWER, "nodes": {"n1": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "ib"}}}
    found = acted(plan_action, Modules(served), task_vars(n1=own))
    assert "but dra still serves this node" in found["problems"][0]
    with pytest.raises(AnsibleError):
        _plan_files.cluster_plan(found["directory"])


def test_a_plan_made_before_the_nodes_is_used_where_none_was_changed(
    facts_of: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    modules = Modules(ANSWER)
    before = acted(plan_action, modules, task_vars(n1=own))
    monkeypatch.setattr(_fleet, "with_images", lambda fleet: [host.name for host in fleet.hosts])

    def after(check: bool = False, **changed: bool) -> dict[str, Any]:
        concerns = {name: {"changed": value, "error": None} for name, value in changed.items()}
        compared = {"rdma_drift_result": {"differs": any(changed.values()), "concerns": concerns}}
        return acted(plan_action, modules, task_vars(check, n1={**own, **compared}), plan=before["directory"])

    assert after(images=False, links=True)["directory"] != before["directory"]
    assert modules.looks == 2
    # What was compared since then counts.
    assert after(images=False, links=False) == {**before, "images": ["n1"]}
    assert modules.looks == 2
    # It was used, so that the cluster is another one now.
    assert after(images=False)["directory"] != before["directory"]
    assert modules.looks == 3
    # In check mode, no node was changed. What a plan without an answer has are no steps.
    before = acted(plan_action, modules, task_vars(True, n1=own))
    assert after(check=True, links=True)["directory"] == before["directory"]
    before = acted(plan_action, modules, task_vars(n1=own), ask="nothing")
    assert modules.looks == 4
    assert after(links=False)["directory"] != before["directory"]


def test_a_plan_made_again_says_what_it_wants_otherwise(facts_of: Facts) -> None:
    own = {"rdma_strategy": "shared_device", "ansible_facts": {"rdma": facts_of("v100-01")}}
    changed = {"rdma_drift_result": {"differs": True, "concerns": {"links": {"changed": True, "error": None}}}}
    modules = Modules(ANSWER)
    before = acted(plan_action, modules, task_vars(n1=own, n2={**own, "rdma_strategy": "none"}))
    assert before["changes"] == []

    def again(**hosts: dict[str, Any]) -> list[str]:
        found: list[str] = acted(plan_action, modules, task_vars(False, None, **hosts), plan=before["directory"])[
            "changes"
        ]
        return found

    assert again(n1={**own, **changed}, n2={**own, "rdma_strategy": "none"}) == []
    assert again(n1={**own, **changed}, n2=own) == [
        "zerocopy.rdma.node-restriction.kubernetes.io/shared-device of n2: not planned before"
    ]
    # Where the claims are planned after the drivers, the cluster is asked though no node was changed.
    asked = len(modules.called)
    waited = acted(plan_action, modules, task_vars(n1=own, n2=own), plan=before["directory"], wait=True)
    assert (len(modules.called), waited["directory"] != before["directory"]) == (asked + 1, True)
    assert waited["changes"] == ["zerocopy.rdma.node-restriction.kubernetes.io/shared-device of n2: not planned before"]
