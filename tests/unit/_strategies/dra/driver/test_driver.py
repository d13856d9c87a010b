# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base import exclusions
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.attributes import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import deployment
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices import versions
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _inventory

# Name, group and variables of each.
Hosts = List[Tuple[str, str, Dict[str, Any]]]


def plan(hosts: Hosts, facts: Optional[Mapping[str, Facts]] = None) -> deployment.DriverPlan:
    every = [InventoryHost(name, group, variables, (facts or {}).get(name)) for name, group, variables in hosts]
    return deployment.plan(every, _inventory.options({}))


def daemon_sets(found: deployment.DriverPlan) -> Dict[str, Dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in found.objects if item["kind"] == "DaemonSet"}


def test_a_daemon_set_for_each_group() -> None:
    hosts: Hosts = [
        ("h100-01", "H100_new", {"rdma_driver_exclude": ["0000:1a:00.0"], "rdma_driver_move_ib_interfaces": False}),
        ("v100-01", "v100", {"rdma_driver_kubelet_root": "/data/kubelet/"}),
        ("v100-02", "v100", {"rdma_driver_kubelet_root": "/data/kubelet/"}),
        ("login", "login", {"rdma_driver_enabled": False}),
    ]
    found = plan(hosts, {name: Facts() for name, _group, _variables in hosts})
    assert found.problems == []
    assert found.labels == {
        "h100-01": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "h100-new"},
        "v100-01": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "v100"},
        "v100-02": {"zerocopy.rdma.node-restriction.kubernetes.io/group": "v100"},
        "login": {"zerocopy.rdma.node-restriction.kubernetes.io/group": None},
    }
    assert [node["metadata"]["name"] for node in found.nodes] == ["h100-01", "v100-01", "v100-02"]
    made = daemon_sets(found)
    assert set(made) == {"dranet-h100-new", "dranet-v100"}
    for name, item in made.items():
        pod = item["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"zerocopy.rdma.node-restriction.kubernetes.io/group": name[len("dranet-") :]}
        volumes = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"]}
        assert {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]} == volumes
    arguments, others = (
        made[name]["spec"]["template"]["spec"]["containers"][0]["args"] for name in ("dranet-h100-new", "dranet-v100")
    )
    assert "--move-ib-interfaces=false" in arguments
    assert "--inventory-max-poll-interval=1m" in arguments
    assert '"0000:1a:00.0"' in next(text for text in arguments if text.startswith("--filter="))
    assert "--kubelet-root-dir=/data/kubelet" in others


def test_a_driver_with_attributes_asks_the_daemon_and_mounts_its_directory() -> None:
    found = daemon_sets(plan([("v100-01", "v100", {"rdma_driver_attributes": True}), ("h100-01", "h100", {})]))
    pod, other = (found[name]["spec"]["template"]["spec"] for name in ("dranet-v100", "dranet-h100"))
    arguments = pod["containers"][0]["args"]
    assert [text for text in arguments if "provider" in text or "webhook" in text] == [
        "--cloud-provider-hint=webhook",
        "--profile-provider=webhook",
        f"--webhook-url=unix://{names.SOCKET}",
    ]
    mounted = {"path": names.DIRECTORY, "type": "Directory"}
    assert [volume["hostPath"] for volume in pod["volumes"] if volume not in other["volumes"]] == [mounted]
    assert pod["containers"][0]["volumeMounts"][-1]["mountPath"] == names.DIRECTORY
    assert "--cloud-provider-hint=NONE" in other["containers"][0]["args"]


def test_a_driver_that_cannot_ask_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "PROVIDER_WEBHOOK", replace(versions.PROVIDER_WEBHOOK, since=(1, 5, 0)))
    found = plan([("v100-01", "v100", {"rdma_driver_attributes": True})])
    assert found.problems == [
        "v100-01: rdma_driver_attributes is True, but DRANET 1.4.0 (rdma_driver_dranet_version) takes attributes from "
        "nobody: leave it out"
    ]
    assert found.objects == []


def test_a_new_node_changes_no_daemon_set() -> None:
    one: Hosts = [("v100-01", "v100", {})]
    assert plan(one).objects == plan([*one, ("v100-02", "v100", {})]).objects


def test_a_namespace_of_its_own_admits_privileged_pods() -> None:
    found = plan([("v100-01", "v100", {"rdma_driver_namespace": "rdma"})])
    assert found.objects[0]["kind"] == "Namespace"
    assert found.objects[0]["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "privileged"}
    assert not [item for item in plan([("v100-01", "v100", {})]).objects if item["kind"] == "Namespace"]


def test_the_image_by_digest_and_by_tag() -> None:
    def image(**values: str) -> str:
        own = {f"rdma_driver_{name}": value for name, value in values.items()}
        item = daemon_sets(plan([("v100-01", "v100", own)]))["dranet-v100"]
        return str(item["spec"]["template"]["spec"]["containers"][0]["image"])

    assert image().startswith("registry.k8s.io/networking/dranet:v1.4.0@sha256:")
    assert image(image="mirror.example/dranet", dranet_version="1.5.0", digest="") == "mirror.example/dranet:v1.5.0"


def test_the_parent_of_the_set_is_in_another_namespace_than_the_driver() -> None:
    own = {"rdma_driver_namespace": "rdma", "rdma_parent_namespace": "rdma"}
    (problem,) = plan([("v100-01", "v100", own)]).problems
    assert "rdma_parent_namespace is 'rdma', the same as rdma_driver_namespace, which is part of" in problem


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"dranet_version": "1.3.0"}, "it must be 1.4.0 or newer"),
        ({"dranet_version": "stable"}, "it must be a version like 1.4.0"),
        ({"dranet_version": "1.5.0"}, "which is the digest of 1.4.0, not of 1.5.0"),
        ({"digest": "sha256:12"}, "it must be sha256: and 64 hexadecimal digits, or empty"),
        ({"exclude": ["ens1np0"]}, "it must be a PCI address like 0000:1a:00.0"),
        (
            {"arguments": ["--vmodule=nri*=4", "--device-attach-timeout=0"]},
            "[1] is '--device-attach-timeout=0', but DRANET",
        ),
        ({"arguments": ["--filter=true"]}, "but the role sets --filter itself"),
        ({"arguments": ["--bind-address=:9999"]}, "but the DaemonSet of the role needs the default of --bind-address"),
        ({"arguments": ["-filter=true"]}, "it must be --name=value in one line"),
        ({"arguments": ["--vmodule", "nri*=4"]}, "it must be --name=value in one line"),
        ({"arguments": ["--vmodule=nri*=4\n"]}, "it must be --name=value in one line"),
        ({"image": "registry.example:5000/dranet:v1.4.0"}, "it must be an image without scheme, tag or digest"),
        ({"image": "https://registry.example/dranet"}, "it must be an image without scheme"),
        ({"image": "registry.example/dranet@sha256:" + "0" * 64}, "it must be an image without scheme, tag or digest"),
        ({"image": "Registry.example/DRANET"}, "in lower case"),
        ({"image": "registry.example/dra net"}, "it must be an image"),
        ({"image": "registry.example/dranet\n"}, "it must be an image"),
        ({"image": ""}, "it must be an image"),
        ({"digest": "sha256:" + "0" * 64 + "\n"}, "it must be sha256: and 64 hexadecimal digits, or empty"),
        ({"exclude": ["0000:1a:00.0\n"]}, "it must be a PCI address like 0000:1a:00.0"),
        ({"poll_max_interval": "60s\n"}, "it must be a duration with its unit"),
        ({"poll_max_interval": "2562048h"}, "it must be a duration with its unit"),
        ({"kubelet_root": "//"}, "it must be an absolute path below /"),
        ({"kubelet_root": "/"}, "it must be an absolute path below /"),
        ({"kubelet_root": "/var/lib/../etc"}, "it must be an absolute path below /"),
        ({"kubelet_root": "/var/lib/kubelet\n"}, "it must be an absolute path below /"),
        ({"kubelet_root": "var/lib/kubelet"}, "it must be an absolute path below /"),
        ({"poll_max_interval": "60"}, "is '60', it must be a duration with its unit"),
        (
            {"poll_min_interval": "500ms"},
            "is '500ms', it must be a duration with its unit, like 30s or 1m30s, from 1s to 24h",
        ),
        ({"poll_min_interval": "5m"}, "interval is '1m', it must be at least rdma_driver_poll_min_interval, 5m"),
        ({"move_ib_interfaces": "maybe"}, "rdma_driver_move_ib_interfaces is 'maybe'"),
        ({"exclude": "0000:1a:00.0"}, "rdma_driver_exclude is '0000:1a:00.0'"),
        ({"attributes": "maybe"}, "rdma_driver_attributes is 'maybe'"),
        (
            {"attributes": True, "arguments": ["--profile-provider=webhook"]},
            "but the role sets --profile-provider itself",
        ),
    ],
)
def test_what_cannot_be_is_refused(variables: Dict[str, Any], said: str) -> None:
    found = plan([("v100-01", "v100", {f"rdma_driver_{name}": value for name, value in variables.items()})])
    assert found.objects == []
    assert len(found.problems) == 1
    assert said in found.problems[0]
    assert found.problems[0].startswith("v100-01: rdma_driver_")


@pytest.mark.parametrize("value", ["0", "120%", "10%\n"])
def test_what_is_no_share_of_nodes_is_refused(value: str) -> None:
    (problem,) = plan([("v100-01", "v100", {"rdma_max_unavailable": value})]).problems
    right = "it must be a number of nodes or a percentage, at least 1"
    assert problem == f"v100-01: rdma_max_unavailable is {value!r}, {right}"


def test_what_hosts_do_not_agree_on_is_refused() -> None:
    found = plan(
        [
            ("v100-01", "v100", {"rdma_max_unavailable": "4"}),
            ("v100-02", "v100", {}),
            ("a100-01", "A_100", {"rdma_driver_namespace": "rdma"}),
            ("a100-02", "a-100", {"rdma_driver_namespace": "rdma"}),
            ("p", "___", {}),
        ]
    )
    assert found.objects == []
    told = "\n".join(found.problems)
    assert "v100-02: rdma_max_unavailable is '1', but '4' on v100-01" in told
    assert "a100-02: rdma_group is 'a-100', which has the same name in Kubernetes as A_100" in told
    assert "rdma_driver_namespace is 'kube-system' on" in told
    assert "p: rdma_group is '___', which cannot be part of a DaemonSet's name" in told


def test_images_of_registries_that_are_written_in_other_ways() -> None:
    for image in ("dranet", "localhost:5000/dranet", "[fd00::1]:5000/net/dranet", "mirror.example/a__b/dra-net.x"):
        assert plan([("v100-01", "v100", {"rdma_driver_image": image})]).problems == []


def test_feature_gates_are_arguments_of_the_site() -> None:
    own = {"rdma_driver_arguments": ["--feature-gates=AllBeta=true"]}
    assert plan([("v100-01", "v100", own)]).problems == []


def test_arguments_of_the_site_follow_those_of_the_role() -> None:
    more = ["--device-attach-timeout=0", "--hook-path="]
    values = {"dranet_version": "1.5.0", "digest": "", "arguments": more}
    own = {f"rdma_driver_{name}": value for name, value in values.items()}
    made = daemon_sets(plan([("v100-01", "v100", own), ("v100-02", "v100", own), ("a100-01", "a100", {})]))
    with_more, others = (
        made[name]["spec"]["template"]["spec"]["containers"][0]["args"] for name in ("dranet-v100", "dranet-a100")
    )
    assert with_more == [*others, *more]


def test_an_exclude_of_no_node_is_a_mistake(facts_of: Callable[..., Dict[str, Any]]) -> None:
    facts = {name: facts_of(name) for name in ("v100-01", "v100-02")}
    address = facts["v100-01"]["hcas"][0]["pci"]["address"]

    def found(exclude: str, facts: Dict[str, Any]) -> List[str]:
        own = {"rdma_driver_exclude": [exclude]}
        hosts: Hosts = [(name, "v100", own) for name in ("v100-01", "v100-02")]
        known = {name: read.facts(sent) for name, sent in facts.items()}
        return plan(hosts, known).problems

    assert found(address, facts) == []
    assert found(address.upper()[5:], facts) == []
    (problem,) = found("0000:99:00.0", facts)
    assert problem.startswith("v100-[01-02]: rdma_driver_exclude[0] is '0000:99:00.0', which no RDMA device of these")
    assert address in problem
    # Nothing can be said before all nodes of the group have told what they have.
    assert found("0000:99:00.0", {"v100-01": facts["v100-01"]}) == []
    assert found("0000:99:00.0", {**facts, "v100-02": {**facts["v100-02"], "hcas": []}}) == []
    away = {**facts["v100-02"], "system": {**facts["v100-02"]["system"], "netns_mode": "exclusive"}}
    assert found("0000:99:00.0", {**facts, "v100-02": away}) == []


def _filter(facts: Dict[str, Dict[str, Any]], **values: Any) -> str:
    hosts: Hosts = [(name, "group", {f"rdma_driver_{key}": value for key, value in values.items()}) for name in facts]
    read_back = {name: read.facts(of_host) for name, of_host in facts.items()}
    found = plan(hosts, read_back)
    assert found.problems == []
    (made,) = daemon_sets(found).values()
    (text,) = [one for one in made["spec"]["template"]["spec"]["containers"][0]["args"] if one.startswith("--filter=")]
    return str(text)


def _addresses(facts: Dict[str, Any], code: str) -> List[str]:
    places = {hca["name"]: hca["pci"]["address"] for hca in facts["hcas"]}
    return [places[one["hca"]] for one in facts["excluded"] if code in {reason["code"] for reason in one["reasons"]}]


@pytest.mark.parametrize(
    ("node", "code"),
    [("case-b200", "nvswitch_management"), ("a100-01", "bond"), ("case-default-route", "default_route")],
)
def test_what_belongs_to_the_node_is_never_published(facts_of: Callable[..., Any], node: str, code: str) -> None:
    facts = facts_of(node)
    own = _addresses(facts, code)
    assert own
    text = _filter({node: facts})
    assert all(f'"{address}"' in text for address in own)
    assert not any(f'"{hca["pci"]["address"]}"' in text for hca in facts["hcas"] if hca["name"] in _usable(facts))
    # What the inventory names is there once.
    assert _filter({node: facts}, exclude=own[:1]).count(f'"{own[0]}"') == 1


def _usable(facts: Dict[str, Any]) -> List[str]:
    return [one["hca"] for one in facts["usable"]]


@pytest.mark.parametrize("code", ["bond_slave", "bridge_port", "team_port"])
def test_a_nic_belongs_to_the_node_if_all_its_ports_do(facts_of: Callable[..., Any], code: str) -> None:
    facts = copy.deepcopy(facts_of("case-two-ports"))
    (hca,) = facts["hcas"]
    facts["usable"], facts["excluded"] = [], []
    found = []
    for port in (1, 2):
        reason = {"code": code, "text": "in words", "fields": {"netdev": f"p{port}", "master": "m0"}}
        facts["excluded"].append({"hca": hca["name"], "port": port, "reasons": [reason]})
        found.append(list(exclusions.why(read.facts(facts))))
    assert found == [[], [hca["pci"]["address"]]]


def test_an_uplink_of_one_node_may_be_a_nic_of_another(facts_of: Callable[..., Any]) -> None:
    facts = facts_of("a100-01")
    (address,) = _addresses(facts, "bond")
    other = copy.deepcopy(facts)
    bond = next(hca["name"] for hca in facts["hcas"] if hca["pci"]["address"] == address)
    other["excluded"] = [one for one in other["excluded"] if one["hca"] != bond]
    assert f'"{address}"' not in _filter({"a100-01": facts, "a100-02": other})
    management = facts_of("case-b200")
    taken = _addresses(management, "nvswitch_management")
    different = copy.deepcopy(management)
    different["excluded"] = []
    text = _filter({"b200-01": management, "b200-02": different})
    assert all(f'"{one}"' in text for one in taken)


def test_nodes_whose_runtime_has_no_nri_are_told(facts_of: Callable[..., Any]) -> None:
    hosts: Hosts = [(f"v100-0{number}", "v100", {}) for number in range(1, 4)]
    hosts.append(("login-1", "login", {"rdma_driver_enabled": False}))
    facts = {name: read.facts(facts_of("v100-01")) for name, _group, _values in hosts}
    for name, listens in (("v100-01", False), ("v100-02", None), ("v100-03", True), ("login-1", False)):
        facts[name].system.nri = listens
    found = plan(hosts, facts)
    # Not wrong by itself: prepare switches it on.
    assert found.problems == []
    assert list(found.unprepared) == ["v100-01"]
    why = found.unprepared["v100-01"]
    assert (why.startswith("NRI is off"), "role rdma_runtime" in why) == (True, True)


def test_a_variable_without_a_value_is_told_as_such() -> None:
    why = Problem("rdma_driver_kubelet_root", "cannot be worked out: 'site' is undefined")
    broken = [
        InventoryHost(name, "v100", broken=[why, Problem("rdma_other", "is wrong")]) for name in ("v100-01", "v100-02")
    ]
    found = deployment.plan(broken, _inventory.options({}))
    assert found.problems == [f"v100-[01-02]: {why.variable} {why.text}"]
    assert found.objects == []
