# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What a pod gets by planned requests is never less than it asked for without a word (hypothesis makes the pods)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import plain
from ansible_collections.zerocopy.rdma.plugins.module_utils._workloads import requests
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _strategy_inventory
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import NAMESPACE, Object
from ansible_collections.zerocopy.rdma.tests.unit._migrate.manifests.rewriting import moved


class Group(NamedTuple):
    """A planned group, and what its nodes are: GPUs, NICs beside them, and the names of resources that its GPUs have.

    ``slots`` are what one of an extended resource is: a number of NICs, 0 for all of the node, -1 for those beside the
    GPUs of the container. ``claims`` are GPUs and NICs of each template by its name in the cluster.
    """

    requests: Sequence[NamedRequest]
    claims: Mapping[str, tuple[int, int]]
    slots: Mapping[str, int]
    gpus: int
    nics: int
    names: Sequence[str]


def counts(spec: Object, nics: int) -> tuple[int, int]:
    found = {"gpu": 0, "nic": 0}
    for request in spec["devices"]["requests"]:
        found[request["name"][:3]] += request["exactly"].get("count", nics)
    return found["gpu"], found["nic"]


TEMPLATES = [
    {"name": "one", "nics": 1},
    {"name": "two", "nics": 2},
    {"name": "every", "nics": "all"},
    {"name": "pair", "gpus": 2, "nics": 1},
    {"name": "board", "gpus": 4, "nics": 2},
    {"name": "half", "gpus": 4, "nics": 1},
    {"name": "gpus", "gpus": 4},
]
V100, A100 = (["nvidia.com/gpu", "nvidia.com/gpu.shared", name] for name in ("nvidia.com/v100", "nvidia.com/a100"))


@pytest.fixture(scope="module")
def groups(facts_of: Callable[..., dict[str, Any]]) -> dict[str, Group]:
    def planned(node: str, slots: Mapping[str, int], gpus: int, nics: int, names: list[str], **own: Any) -> Group:
        host = {"inventory_hostname": "n1", "group_names": ["g"], "ansible_facts": {"rdma": facts_of(node)}, **own}
        hosts = _strategy_inventory.hosts({}, ["n1"], {"n1": host})
        plan = _strategy_inventory.planned({}, hosts, registry.plan)
        assert plan.problems == []
        objects = [item for each in plan.sets for item in each.objects]
        found = [NamedRequest(**each) for each in plain(requests.named(objects, plan.requests["g"], hosts))]
        specs = {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "ResourceClaimTemplate"}
        claims = {each.templates[NAMESPACE]: counts(specs[each.name]["spec"], nics) for each in found if each.templates}
        return Group(found, claims, slots, gpus, nics, names)

    claimed = {"rdma_claims_templates": TEMPLATES, "rdma_claims_namespaces": [NAMESPACE]}
    bridge = {"rdma_claims_extended_resources": [{"name": "rdma/one"}]}
    whole = {"rdma_strategy": "host_device", "rdma_host_device_networks": ["10.9.0.0/16"]}
    whole |= {"rdma_host_device_namespace": NAMESPACE}
    return {
        "dra": planned("v100-01", {}, 4, 2, V100, **claimed),
        "bridge": planned("v100-01", {"rdma/one": 1}, 4, 2, V100, **bridge),
        "shared": planned("v100-01", {"rdma/rdma_g": 0}, 4, 2, V100, rdma_strategy="shared_device"),
        "whole": planned("v100-01", {"rdma/g": 1}, 4, 2, V100, **whole),
        "inject": planned("a100-01", {"rdma.io/hca": -1}, 8, 1, A100, rdma_strategy="inject"),
    }


GPUS = st.sampled_from(
    [*V100, "nvidia.com/gpu", "nvidia.com/gpu", "nvidia.com/a100", "nvidia.com/h100", "amd.com/gpu", "habana.ai/gaudi"]
)
NUMBERS = st.sampled_from((1, 1, 2, 4, 8))


@st.composite
def containers(draw: st.DrawFn, name: str) -> Object:
    limits = {draw(GPUS): str(draw(NUMBERS))} if draw(st.booleans()) else {}
    limits |= {"rdma/ib": str(draw(NUMBERS))} if draw(st.booleans()) else {}
    restarts = {"restartPolicy": "Always"} if name.startswith("init") and draw(st.booleans()) else {}
    return {"name": name, "image": "x", "resources": {"limits": limits}, **restarts}


@st.composite
def pods(draw: st.DrawFn) -> Object:
    few = st.integers(0, 2)
    spec = {
        "hostNetwork": draw(st.sampled_from((True, True, False))),
        "initContainers": [draw(containers(f"init{number}")) for number in range(draw(few))],
        "containers": [draw(containers(f"main{number}")) for number in range(1 + draw(few))],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": NAMESPACE}, "spec": spec}


def stages(item: Object) -> Iterator[list[Object]]:
    """The containers that a pod has at the same time."""
    spec = item["spec"]
    beside = [each for each in spec["initContainers"] if "restartPolicy" in each]
    yield from ([each] for each in spec["initContainers"] if each not in beside)
    yield [*beside, *spec["containers"]]


def of(container: Object, *beginnings: str) -> dict[str, int]:
    limits = container.get("resources", {}).get("limits", {})
    return {name: int(number) for name, number in limits.items() if name.startswith(beginnings)}


def whole(container: Object) -> int:
    found = of(container, "nvidia.com/", "amd.com/", "habana.ai/")
    return sum(number for name, number in found.items() if not name.endswith(".shared"))


def less(group: Group, before: Object, after: Object) -> Iterator[str]:
    """What a pod asked for on such a node, and does not get any more."""
    claimed = [group.claims[each["resourceClaimTemplateName"]] for each in after["spec"].get("resourceClaims", [])]
    names = {name for stage in stages(before) for each in stage for name in of(each, "nvidia.", "amd.", "habana.")}
    if not names <= {*group.names}:
        yield f"{names} are no GPUs of the group"
    for was, now in zip(stages(before), stages(after)):
        wanted = got = 0
        users = 0
        for old, new in zip(was, now):
            gpus = whole(old)
            share = min(gpus, -(-gpus * group.nics // group.gpus))
            # Without RDMA, it is a container like others: its GPUs are nobody's neighbours.
            if not (of(old, "rdma/") or (before["spec"]["hostNetwork"] and of(old, *group.names))):
                continue
            need = max(share, *of(old, "rdma/").values(), 0)
            slots = [group.slots[name] for name in of(new, "rdma") if name in group.slots]
            given = sum(group.nics if slot == 0 else max(1, share) if slot < 0 else slot for slot in slots)
            got += min(need, 8 if 0 in slots else given)
            wanted += need
            if whole(new) < gpus:
                users += 1
                if gpus > sum(number for number, _nics in claimed):
                    yield f"{gpus} GPUs of {old['name']}"
        all_of_node = any(nics >= group.nics for _gpus, nics in claimed)
        if wanted > got + sum(nics for _gpus, nics in claimed) and not (all_of_node and wanted > group.nics):
            yield f"{wanted} NICs"
        if users > 1:
            yield "one claim for the GPUs of several containers"


@settings(max_examples=400, derandomize=True, deadline=None, database=None)
@given(data=st.data())
def test_what_a_pod_gets_is_never_less_without_a_word(groups: dict[str, Group], data: st.DataObject) -> None:
    group = groups[data.draw(st.sampled_from(sorted(groups)))]
    item = data.draw(pods())
    names = [request.name for request in group.requests]
    own = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    choice = data.draw(st.one_of(st.none(), st.lists(st.sampled_from(own), min_size=1, unique=True)))
    options = RewriteOptions(
        [request for request in group.requests if request.name in own], {"p": choice} if choice else {}
    )
    (there,), notes = moved(item, options=options)
    if not notes and there != item:
        assert list(less(group, item, there)) == []
    requests = any(of(each, "rdma/") for stage in stages(item) for each in stage)
    assert not requests or there != item or notes
