# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The node's part of the plan: from variables to the options of each part, and as files."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, Callable

import pytest
from ansible import constants
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.action import plan as plan_action
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.findings import Excluded, Reason
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import (
    Facts,
    Hca,
    Netdev,
    PciFunction,
    Port,
    Slave,
    Sriov,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._links.host_links import LinkPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import node_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.document import HostPlan, RunPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.node_options import NodeOptions
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.every import DAEMONS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel import request as kernel_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request as links_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.module import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import image_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import options as runtime_options
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _node_plan, _plan_files, _run_plan
from ansible_collections.zerocopy.rdma.plugins.plugin_utils._run_variables import HostVariables, RunVariables

SPECS = {
    "kernel": kernel_options.SPEC,
    "links": links_options.SPEC,
    "runtime": runtime_options.ARGUMENTS,
    **{name: load().spec for name, load in DAEMONS.items()},
}
# What no variable says, or what variables say by another default.
NOT_PLANNED = {
    "kernel": {"name", "state"},
    "links": {"confirm", "state"},
    "runtime": {"state", "registration_timeout"},
    "inject": {"interpreter", "digest", "program", "gpu_classes", "socket", "await_seconds"},
    "exporter": {"interpreter", "digest", "program", "gpu_classes", "runtime_socket"},
    "attributes": {"interpreter", "digest", "program"},
    "lldpd": set(),
}
OTHER_DEFAULT = {"kernel": {"modules", "user_memlock"}, "attributes": {"keep"}, "exporter": {"keep"}}
# A host has one strategy: what is asked for each part whose daemon is that of a strategy.
OF_STRATEGY: dict[str, dict[str, Any]] = {
    "attributes": {"rdma_strategy": "dra", "rdma_driver_attributes": True},
    "lldpd": {"rdma_cabling_lldpd": True},
}
INJECT: dict[str, Any] = {"rdma_strategy": "inject"}
ARCHIVED = {"rdma_driver_archive": "/images/dranet.tar"}


def values(**own: Any) -> dict[str, Any]:
    return {**variables.defaults(variables.options_of()), **own}


def present(**own: Any) -> NodeOptions:
    return node_options.present(values(**own), LinkPlan())


def options_of(node: NodeOptions, part: str) -> dict[str, Any]:
    """Those of a part, or of a daemon."""
    found: dict[str, Any] = (node.daemons or {})[part] if part in DAEMONS else getattr(node, part)
    return found


def test_every_option_of_a_part_is_planned() -> None:
    limits = {"rdma_kernel_netns_mode": "shared", "rdma_kernel_user_memlock": "64"}
    for part, spec in SPECS.items():
        found = present(rdma_exporter_enabled=True, **limits, **OF_STRATEGY.get(part, INJECT))
        assert set(options_of(found, part)) == set(spec) - NOT_PLANNED[part]


def test_variables_have_the_defaults_of_the_options() -> None:
    for part, spec in SPECS.items():
        found = present(rdma_exporter_enabled=True, **OF_STRATEGY.get(part, INJECT))
        planned, default = read(spec, options_of(found, part)), read(spec, {})
        other = {name for name in planned if planned[name] != default[name]}
        # The only netns mode in which this strategy works.
        assert other - {"netns_mode"} == OTHER_DEFAULT.get(part, set())


def test_what_a_node_does_not_have() -> None:
    nothing = present(rdma_strategy="none", rdma_runtime_flavour="none", rdma_kernel_user_memlock="")
    assert (nothing.runtime, nothing.images) == (None, None)
    assert nothing.daemons == {name: {"root": "/", "state": "absent"} for name in DAEMONS}
    assert not {"netns_mode", "user_memlock"} & set(nothing.kernel or {})
    assert nothing.packages == values()["rdma_kernel_packages"]
    image = present(**ARCHIVED)
    (planned,) = image.images or []
    assert (set(planned) <= set(image_options.ARGUMENTS), planned["archive"]) == (
        True,
        ARCHIVED["rdma_driver_archive"],
    )
    # Nothing is installed in an image of a node, nor can it import any.
    rooted = present(rdma_discover_root="/srv/node", **ARCHIVED)
    assert (rooted.packages, rooted.images) == (None, None)
    assert {options_of(rooted, part)["root"] for part in SPECS} == {"/srv/node"}


def test_what_goes_needs_no_more_than_what_reverts_it() -> None:
    found = node_options.absent(values(rdma_runtime_flavour="k3s"))
    assert (found.packages, found.images) == (None, None)
    for part, spec in SPECS.items():
        options = options_of(found, part)
        assert options["state"] == "absent"
        assert set(options) <= set(spec)
    assert (found.runtime or {})["runtime"] == "k3s"
    assert node_options.absent(values(rdma_runtime_flavour="none")).runtime == {
        **(node_options.absent(values()).runtime or {}),
        "runtime": "none",
    }


def test_daemon_keeps_from_containers_what_the_driver_leaves_out() -> None:
    own = {"rdma_inject_exclude": ["mlx5_0"], "rdma_driver_exclude": ["mlx5_1"]}
    found = options_of(present(rdma_strategy="inject", rdma_discover_expect_link_layer="Ethernet", **own), "inject")
    assert (found["exclude"], found["link_layer"]) == (["mlx5_0", "mlx5_1"], "Ethernet")


def test_the_exporter_knows_the_rails_and_their_rate_and_the_names_of_the_host() -> None:
    rails = [{"name": "0", "hca": "mlx5_4", "port": 2, "pci": "0000:3b:00.0"}]
    own = {"rdma_exporter_enabled": True, "rdma_exporter_listen": "0.0.0.0:9880", "rdma_discover_expect_rate_gbps": 400}
    found = options_of(node_options.present(values(**own), LinkPlan(rails=rails), None, "h100-01", "h100"), "exporter")
    assert (found["rate_gbps"], found["listen"], found["rails"]) == (400.0, "0.0.0.0:9880", rails)
    assert (found["host"], found["group"]) == ("h100-01", "h100")


def test_lldpd_listens_on_the_ports_whose_cables_are_checked() -> None:
    def ethernet(name: str, **own: Any) -> Port:
        return Port(1, link_layer="Ethernet", netdev=Netdev(name, "netlink", **own))

    facts = Facts(
        hcas=[
            Hca("mlx5_1", ports=[ethernet("bond0", bond=True, slaves=[Slave("ens2np0"), Slave("ens3np0")])]),
            Hca("mlx5_0", ports=[ethernet("ens1np0"), Port(2, link_layer="InfiniBand", netdev=Netdev("ib0", "gid"))]),
            Hca("mlx5_2", ports=[ethernet("ens1v0")], sriov=Sriov(role="vf")),
            Hca("rxe0", software=True, ports=[ethernet("eth0")]),
            Hca("mlx5_3", ports=[Port(1, link_layer="Ethernet")]),
        ]
    )
    own = values(rdma_cabling_lldpd=True)
    assert options_of(node_options.present(own, LinkPlan(), facts), "lldpd") == {
        "root": "/",
        "netdevs": ["ens1np0", "ens2np0", "ens3np0"],
        "state": "present",
    }
    assert options_of(node_options.present(own, LinkPlan()), "lldpd")["netdevs"] is None
    assert options_of(node_options.present(values(), LinkPlan(), facts), "lldpd")["state"] == "absent"


def test_attributes_are_those_of_the_facts_and_stay_without_any() -> None:
    function = PciFunction("0000:3b:00.0", "15b3", "1021", "0207")
    facts = Facts(hcas=[Hca("mlx5_4", pci=function, ports=[Port(1, link_layer="Ethernet")])])
    links = LinkPlan(rails=[{"name": "2", "hca": "mlx5_4", "port": 1, "pci": "0000:3b:00.0"}])
    own = values(rdma_driver_attributes=True)
    found = options_of(node_options.present(own, links, facts), "attributes")
    assert (found["devices"], found["keep"]) == ({"0000:3b:00.0": {"rail": 2, "link_layer": "Ethernet"}}, False)
    facts.system.netns_mode = "exclusive"
    assert options_of(node_options.present(own, links, facts), "attributes")["keep"] is True
    # Soft-RoCE, of whose place nothing is known while a pod has it.
    facts.system.netns_mode = "shared"
    facts.excluded.append(Excluded("rxe0", 1, [Reason("in_pod", "")]))
    assert options_of(node_options.present(own, links, facts), "attributes")["keep"] is True
    unknown = options_of(node_options.present(own, LinkPlan()), "attributes")
    assert (unknown["devices"], unknown["keep"]) == ({}, True)


@pytest.mark.parametrize(
    "own",
    [{}, {"rdma_driver_enabled": False, "rdma_driver_attributes": True}, {**INJECT, "rdma_driver_attributes": True}],
)
def test_only_hosts_whose_driver_asks_have_the_daemon_of_attributes(own: dict[str, Any]) -> None:
    assert options_of(present(**own), "attributes")["state"] == "absent"


def trusted(variables: dict[str, Any]) -> Any:
    from ansible.template import trust_as_template

    return {name: trust_as_template(value) if isinstance(value, str) else value for name, value in variables.items()}


def run_of(play: dict[str, Any], **hosts: dict[str, Any]) -> RunVariables:
    """The variables of a task on the first of these hosts; ``play`` are those of the play."""
    hostvars = {name: trusted({"inventory_hostname": name, **own}) for name, own in hosts.items()}
    first = next(iter(hosts))
    raw = {**hostvars[first], **trusted(play), "hostvars": hostvars, "ansible_play_batch": list(hosts)}
    return RunVariables(raw, DataLoader())


def test_ansible_puts_the_variables_of_a_host_together_once_in_a_task() -> None:
    looked: list[str] = []

    class Hostvars(dict[str, Any]):
        def __getitem__(self, host: str) -> Any:
            looked.append(host)
            return super().__getitem__(host)

    raw = {"inventory_hostname": "a", "ansible_play_batch": ["a", "b"], "hostvars": Hostvars(a={}, b={"own": 1})}
    run = RunVariables(raw, DataLoader())
    assert [host.get("own") for host in run.of_hosts()] == [None, 1]
    assert run.task["hostvars"]["b"]["own"] == 1
    assert all(host["hostvars"]["b"] == {"own": 1} for host in run.of_hosts())
    assert (list(run.task["hostvars"]), len(run.task["hostvars"]), "c" in run.task["hostvars"]) == (
        ["a", "b"],
        2,
        False,
    )
    assert sorted(looked) == ["a", "b"]


def test_variables_of_the_play_are_worked_out_for_each_host() -> None:
    play = {"rdma_discover_root": "{{ base }}/{{ inventory_hostname }}", "base": "/nodes"}
    own = {"rdma_links_mtu": 2044, "base": "/theirs"}
    found = {str(host["inventory_hostname"]): host for host in run_of(play, a={}, b=own).of_hosts()}
    assert {name: host["rdma_discover_root"] for name, host in found.items()} == {"a": "/nodes/a", "b": "/nodes/b"}
    assert ("rdma_links_mtu" in found["a"], found["b"]["rdma_links_mtu"]) == (False, 2044)


def test_a_default_of_a_role_is_no_word_of_the_play() -> None:
    play = {"rdma_links_unmanage_vfs": False, "rdma_runtime_flavour": "auto"}
    _own, other = run_of(play, a={}, b={"rdma_links_unmanage_vfs": True, "rdma_runtime_flavour": "crio"}).of_hosts()
    assert (other["rdma_links_unmanage_vfs"], other["rdma_runtime_flavour"]) == (True, "crio")
    # Any other value is one.
    _own, other = run_of({"rdma_links_unmanage_vfs": True}, a={}, b={"rdma_links_unmanage_vfs": False}).of_hosts()
    assert other["rdma_links_unmanage_vfs"] is True


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"rdma_links_mtu": "{{ nowhere }}"}, "rdma_links_mtu cannot be worked out"),
        ({"rdma_links_unmanage_vfs": "maybe"}, "b: rdma_links_unmanage_vfs"),
        ({"rdma_links_subnet": "10.0.0.0/24"}, "b: there are no facts about its HCAs"),
        ({"rdma_group": "{{ nowhere }}"}, "nowhere"),
    ],
)
def test_a_host_that_cannot_be_planned_fails_alone(own: dict[str, Any], problem: str) -> None:
    other, host = _node_plan.of_run(run_of({}, a={}, b={**own, **ARCHIVED}), "present")
    assert problem in host.problem
    assert (other.problem, other.node.kernel is None) == ("", False)
    node = host.node
    if "rdma_links_subnet" not in own:
        assert node == NodeOptions()
    # Only links need facts, and to put a host back takes none.
    else:
        assert (node.links, node.kernel is None, node.images is None) == (None, False, False)
        assert _node_plan.of_run(run_of({}, b=own), "absent")[0].problem == ""


@pytest.mark.parametrize("tolerant", [True, False])
def test_a_host_is_looked_at_although_it_may_not_be_changed(
    facts_of: Callable[[str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tolerant: bool
) -> None:
    """Verify tests a host as it is; what its facts do not allow is a reason not to change it."""
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    facts = {"ansible_facts": {"rdma": facts_of("v100-02")}}
    hosts: dict[str, Any] = {
        "a-1": facts,
        "driver-2": {**facts, "rdma_kernel_blacklist": ["mlx5_core"]},
        "port-3": {**facts, "rdma_links_ports": [{"hca": "mlx5_9"}], "rdma_links_subnet": "10.0.0.0/24"},
    }
    run = run_of({"ansible_play_hosts_all": list(hosts)}, **hosts)
    found = _run_plan.made(run, {"parts": ["node"], "tolerant": tolerant}, lambda *_asked: {})
    assert found.result["problems"] == []
    refused = [name for name, host in found.plan.hosts.items() if host.problem]
    assert refused == ([] if tolerant else ["driver-2", "port-3"])
    # All but links that cannot be planned is compared.
    compared = {name: (host.node.kernel is None, host.node.links is None) for name, host in found.plan.hosts.items()}
    assert compared["driver-2"] == (not tolerant, not tolerant)
    assert compared["port-3"] == (not tolerant, True)
    assert bool(found.plan.hosts["port-3"].warnings) is tolerant


def test_a_plan_is_read_back_from_a_private_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    hosts = ["n1", "../n1", "/etc/passwd", "n:1", "n 1", "n" * 300, "ä", "N1"]
    plan = RunPlan({host: HostPlan(host, "v100", present(), warnings=["w"]) for host in hosts})
    directory = Path(_plan_files.write(plan))
    assert directory.parent == tmp_path
    files = list(directory.iterdir())
    assert len(files) == len(hosts)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {host: _plan_files.host_plan(str(directory), host) for host in hosts} == plan.hosts
    with pytest.raises(AnsibleError, match=r"n2: .* has no plan for this host"):
        _plan_files.host_plan(str(directory), "n2")


def test_the_action_returns_no_more_than_where_the_plan_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    from ansible.playbook.play_context import PlayContext
    from ansible.playbook.task import Task
    from ansible.plugins.connection.local import Connection

    task, loader, context = Task(), DataLoader(), PlayContext()
    task.action, task.args, task.async_val, task.check_mode = "zerocopy.rdma.plan", {"parts": ["node"]}, 0, True
    made = plan_action.ActionModule(task, Connection(context), context, loader, Templar(loader=loader), None)
    hosts = {"a": ARCHIVED, "b": {"rdma_links_unmanage_vfs": "maybe"}}
    found = made.run(task_vars=dict(run_of({"ansible_play_hosts_all": ["a", "b"]}, **hosts)._raw))
    assert list(found["unplanned"]) == ["b"]
    assert found["problems"] == ["b: rdma_links_unmanage_vfs is 'maybe', it must be true or false"]
    assert _plan_files.host_plan(found["directory"], "a").node.images
    assert set(found) == {"changed", "unplanned", "problems", "directory"}


def test_a_host_plans_itself_from_the_variables_of_its_task() -> None:
    own = trusted({"inventory_hostname": "a", "rdma_kernel_netns_mode": "{{ mode }}", "mode": "exclusive"})
    planned = _node_plan.of_host(HostVariables(own, DataLoader()))
    assert (planned.node.kernel or {})["netns_mode"] == "exclusive"


def test_a_host_s_exporter_gets_its_names() -> None:
    own = trusted({"inventory_hostname": "a", "rdma_group": "h100", "rdma_exporter_enabled": True})
    planned = _node_plan.of_host(HostVariables(own, DataLoader())).node.daemons or {}
    assert (planned["exporter"]["host"], planned["exporter"]["group"]) == ("a", "h100")


@pytest.mark.parametrize(
    ("written", "leaf", "kept"),
    [
        ({"values": {"a": "leaf-1"}}, {"leaf": "leaf-1"}, []),
        ({"without": {"a": "alone"}}, {}, []),
        # Its NIC was in a pod while cabling looked, or it has not looked.
        ({"unseen": {"a": "in a pod"}}, {}, ["leaf"]),
        (None, {}, ["leaf"]),
    ],
)
def test_the_daemon_is_told_the_leaf_group_that_cabling_has_written(
    tmp_path: Path, facts_of: Callable[[str], dict[str, Any]], written: Any, leaf: dict[str, str], kept: list[str]
) -> None:
    if written is not None:
        groups = {"values": {}, "without": {}, "unseen": {}, **written}
        (tmp_path / "cabling.json").write_text(json.dumps({"version": 1, "leaf_groups": groups}))
    own = {"inventory_hostname": "a", "rdma_driver_attributes": True, "rdma_links_mtu": 1500, **_cabling(tmp_path)}
    own["ansible_facts"] = {"rdma": facts_of("lab-01")}
    planned = _node_plan.of_host(HostVariables(trusted(own), DataLoader()))
    options = (planned.node.daemons or {})["attributes"]
    rate = {"rail": 0, "link_layer": "Ethernet", "rate_gbps": 25}
    assert options["devices"] == {"0000:66:00.0": {**rate, **leaf}}
    assert options["untold"].get("0000:66:00.0", []) == kept


def _cabling(directory: Path) -> dict[str, str]:
    return {"rdma_artifacts": str(directory), "rdma_cabling_json": "cabling.json"}


def test_a_file_of_cabling_that_cannot_be_used_is_a_problem_where_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "cabling.json").write_text("{}")
    own: dict[str, Any] = {"inventory_hostname": "a", **_cabling(tmp_path)}
    assert _node_plan.of_host(HostVariables(trusted(own), DataLoader())).problem == ""
    own["rdma_driver_attributes"] = True
    problem = _node_plan.of_host(HostVariables(trusted(own), DataLoader())).problem
    assert problem.startswith("a: rdma_cabling_json is cabling.json, which cannot be used: it has no leaf_groups")
