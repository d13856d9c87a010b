# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Rewritten manifests on a real API server: it accepts them, and the real scheduler allocates what they claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset import content_hash, manifests
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Fleet, Object, placed_on
from ansible_collections.zerocopy.rdma.tests.unit._migrate import audit_manifests
from ansible_collections.zerocopy.rdma.tests.unit._strategies.dra.claims_plan import plan, published, template

Facts = Callable[..., dict[str, Any]]


def _rewritten(items: list[Object], requests: list[NamedRequest]) -> list[Object]:
    found = rewrite.rewritten(items, RewriteOptions(requests))
    assert [note for note in found.notes if note.level == rewrite.CANNOT] == []
    assert found.documents != items
    return found.documents


def test_the_scheduler_allocates_the_claim_of_a_rewritten_pod(fleet: Fleet, facts_of: Facts) -> None:
    facts = facts_of("v100-01")
    found = plan({"n1": facts}, template("pair", gpus=2, nics=2), rdma_claims_namespaces=[fleet.namespace])
    assert found.problems == []
    objects = manifests.ordered(found.objects)
    (made,) = [one for one in objects if one["metadata"].get("labels", {}).get(content_hash.ALIAS) == "pair"]
    fleet.create(objects)
    fleet.nodes(placed_on(published(facts), "n1"))
    limits = {"nvidia.com/gpu": "2", "rdma/hca_shared_devices_a": "1"}
    old = audit_manifests.pod(hostNetwork=True, container={"resources": {"limits": limits}})
    old["metadata"]["namespace"] = fleet.namespace
    ask = NamedRequest("pair", templates={fleet.namespace: made["metadata"]["name"]}, gpus=2)
    (new,) = _rewritten([old], [ask])
    placed = fleet.pods([new])["pod"]
    assert placed.node == "n1"
    assert sorted(map(len, placed.devices.values())) == [2, 2] or sum(map(len, placed.devices.values())) == 4
