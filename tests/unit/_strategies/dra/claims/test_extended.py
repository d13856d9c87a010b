# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Classes of NICs that pods request in their limits, as they did before there were claims (KEP-5004)."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.workloads import Kind, ObjectRef
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import choice
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.need import TemplateNeed
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims import planner as claims_plan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.claims.planner import ClaimPlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.scheduler import cel
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import (
    VERSIONS,
    Facts,
    published,
    template,
)

HCA = "rdma/hca_shared_devices_a"
CLASS = "zerocopy-rdma-nic.rdma-hca-shared-devices-a"


def plan(
    facts: dict[str, Any], *resources: dict[str, Any], kubernetes: tuple[int, ...] | None = None, **variables: Any
) -> ClaimPlan:
    own = {**VERSIONS, "rdma_claims_extended_resources": list(resources), **variables}
    hosts = [InventoryHost(name, name.partition("-")[0], own, read.facts(one)) for name, one in facts.items()]
    return claims_plan.plan(hosts, kubernetes=kubernetes)


def the_class(found: ClaimPlan) -> dict[str, Any]:
    assert found.problems == []
    common, made = found.objects
    assert (common["kind"], common["metadata"]["name"]) == ("DeviceClass", "zerocopy-rdma-nic")
    assert made["kind"] == "DeviceClass"
    return made


def test_the_class_selects_what_a_template_would(facts_of: Facts) -> None:
    # Of the two HCAs of this node one has no link, and bonds are published as well.
    facts = facts_of("a100-01")
    made = the_class(plan({"a100-01": facts}, {"name": HCA, "nic": {"link_layer": "InfiniBand"}}))
    assert made["metadata"] == {"name": CLASS}
    assert set(made["spec"]) == {"extendedResourceName", "selectors"}
    assert made["spec"]["extendedResourceName"] == HCA
    every = [one["cel"]["expression"] for one in made["spec"]["selectors"]]
    devices = published(facts)
    chosen = [device for device in devices if all(cel.matches(expression, device) for expression in every)]
    assert len(devices) > 2
    up = [hca["pci"]["address"] for hca in facts["hcas"] if hca["name"] == "mlx5_1"]
    assert [device.pci for device in chosen] == up


def test_the_hcas_of_a_pod_are_known_whatever_their_links(facts_of: Facts) -> None:
    found = plan({"a100-01": facts_of("a100-01"), "v100-01": facts_of("v100-01")}, {"name": HCA})
    assert found.problems == []
    assert found.resources == {
        "a100": {HCA: {"a100-01": ["mlx5_0", "mlx5_1"]}},
        "v100": {HCA: {"v100-01": ["mlx5_0", "mlx5_1"]}},
    }
    # They are no templates, which verify and workloads would look for.
    assert found.names == {}


def test_what_it_cannot_do_is_said(facts_of: Facts) -> None:
    text = plan({"v100-01": facts_of("v100-01")}, {"name": HCA}).text
    assert text.splitlines()[0] == (
        f"{HCA} (v100), for pods that are not changed: whole NICs instead of shares, no alignment with GPUs, no"
        " configuration per pod, and none for pods with hostNetwork"
    )
    assert "nic matches 2 of 2 NICs on v100-01" in text


def test_the_network_configuration_is_that_of_the_class(facts_of: Facts) -> None:
    parameters = {"interface": {"disableEbpfPrograms": True}}
    made = the_class(plan({"v100-01": facts_of("v100-01")}, {"name": HCA, "mtu": 2044, "parameters": parameters}))
    wanted = {"interface": {"disableEbpfPrograms": True, "mtu": 2044}}
    assert made["spec"]["config"] == [{"opaque": {"driver": "dra.net", "parameters": wanted}}]


@pytest.mark.parametrize(("kubernetes", "refused"), [((1, 35, 6), True), ((1, 36, 0), False), (None, False)])
def test_a_cluster_that_would_drop_the_field(
    facts_of: Facts, kubernetes: tuple[int, ...] | None, refused: bool
) -> None:
    found = plan({"v100-01": facts_of("v100-01")}, {"name": HCA}, kubernetes=kubernetes)
    assert found.problems == (
        [
            "v100-01: rdma_claims_extended_resources[0] is an extended resource served by DRA, which needs Kubernetes"
            " 1.36: this is 1.35.6"
        ]
        if refused
        else []
    )


def test_groups_share_a_class_only_if_they_mean_the_same(facts_of: Facts) -> None:
    facts = {name: read.facts(facts_of(name)) for name in ("v100-01", "lab-01")}

    def hosts(namespace: str, **nic: Any) -> list[InventoryHost]:
        layers = {"lab-01": nic}
        return [
            InventoryHost(
                name,
                name.partition("-")[0],
                {
                    **VERSIONS,
                    "rdma_claims_namespaces": [namespace if name == "lab-01" else "default"],
                    "rdma_claims_extended_resources": [{"name": HCA, "nic": layers.get(name, {})}],
                },
                one,
            )
            for name, one in facts.items()
        ]

    # A class is in no namespace, so that those of templates may differ.
    assert claims_plan.plan(hosts("training")).problems == []
    (problem,) = claims_plan.plan(hosts("default", link_layer="Ethernet")).problems
    assert "is 'rdma/hca_shared_devices_a', which is a different extended resource on lab-01" in problem


def test_a_rewritten_manifest_uses_a_template_where_there_is_one() -> None:
    by_limits = choice.NamedRequest(HCA, limits={HCA: 1})
    by_claim = choice.NamedRequest("one-nic", templates={"default": "one-nic-0a1b2c3d4e"})
    pod = ObjectRef(Kind("", "Pod"), "default", "trainer")
    assert choice.chosen(pod, TemplateNeed(), choice.RewriteOptions([by_limits, by_claim])) == [by_claim]
    assert choice.chosen(pod, TemplateNeed(), choice.RewriteOptions([by_limits])) == [by_limits]


def test_a_template_and_a_resource_stand_side_by_side(facts_of: Facts) -> None:
    found = plan({"v100-01": facts_of("v100-01")}, {"name": HCA}, rdma_claims_templates=[template(nics=1)])
    assert [one["metadata"]["name"] for one in found.objects] == ["zerocopy-rdma-nic", "one", CLASS]
    assert found.names == {"one": ["one"]}
