# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Manifests on an API server that has the custom resources, with the schemas that their projects publish."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from control_plane import lifecycle, pins

from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.tests.cluster import real_definitions
from ansible_collections.zerocopy.rdma.tests.cluster.claims_cluster import Object
from ansible_collections.zerocopy.rdma.tests.cluster.kubectl import kubectl_of
from ansible_collections.zerocopy.rdma.tests.unit._migrate import audit_manifests
from ansible_collections.zerocopy.rdma.tests.unit._workloads.workload_examples import GROUPS, made

Facts = Callable[..., dict[str, Any]]
Apply = Callable[[list[Object]], list[str]]
_NAMESPACES = ("serving",)


@pytest.fixture(scope="module")
def apply() -> Iterator[Apply]:
    """Server-side apply as dry run, strictly validated; returns the names of the objects.

    The API server is one of its own: the custom resources take minutes to be deleted, and others have stand-ins of the
    same names.
    """
    version = os.environ.get("ZEROCOPY_KUBERNETES") or pins.VERSION
    with lifecycle.running(f"pytest-{os.getpid()}-definitions", version=version) as control_plane:
        kubectl = kubectl_of(control_plane)
        names = [f"--filename={path}" for path in real_definitions.files()]
        # Too large for what kubectl reads first to check them. The API server gives each of them 34 s, whatever its
        # options say, and a busy machine needs more for the largest; what was made meanwhile need not be made again.
        for name in names:
            for _attempt in range(5):
                done = kubectl("create", "--validate=false", name, may_fail=True)
                if not done or "AlreadyExists" in done:
                    break
            else:
                pytest.fail(done)
        kubectl("wait", "--for=condition=Established", "--timeout=900s", *names)
        for namespace in _NAMESPACES:
            kubectl("create", "namespace", namespace)
        options = ("--server-side", "--field-manager=zerocopy-rdma", "--dry-run=server", "--validate=strict")
        yield lambda items: kubectl("apply", *options, "-f", "-", "-o", "name", items=items).split()


def test_every_kind_as_it_was_and_rewritten(apply: Apply) -> None:
    """As they were, rewritten in two ways, and brought back."""
    # A LLMInferenceServiceConfig has the spec of a LLMInferenceService, whose schema alone has two megabytes.
    items = [one for one in audit_manifests.guides() if one["kind"] != "LLMInferenceServiceConfig"]
    for one in items:
        one["metadata"]["namespace"] = "default"
    requests = [
        NamedRequest("one", templates={"default": "one-0a1b2c3d4e"}),
        NamedRequest("rdma/one", limits={"rdma/one": 1}),
    ]
    claims, limits = (rewrite.rewritten(items, RewriteOptions([ask])).documents for ask in requests)
    assert [sum(old != new for old, new in zip(items, found)) for found in (claims, limits)] == [24, 26]
    for documents in (items, claims, limits, rewrite.reverted(claims).documents, rewrite.reverted(limits).documents):
        assert len(apply(documents)) == len(items)


def _as_volcano_1_10_has_it(job: Object) -> None:
    """Its Job is of Kubernetes 1.30, where ``source`` was between a claim and its name."""
    for task in job["spec"]["tasks"]:
        for claim in task["template"]["spec"].get("resourceClaims", ()):
            claim["source"] = {name: claim.pop(name) for name in list(claim) if name != "name"}


def test_every_example_of_every_strategy(apply: Apply, facts_of: Facts) -> None:
    found = made(facts_of, *GROUPS)
    assert found["problems"] == []
    items = [item for example in found["examples"] for item in example["objects"]]
    for item in items:
        if item["apiVersion"].startswith("batch.volcano.sh/"):
            _as_volcano_1_10_has_it(item)
    assert {item["kind"] for item in items} == {
        "ConfigMap",
        "Deployment",
        "DisaggregatedSet",
        "Job",
        "LLMInferenceService",
        "LeaderWorkerSet",
        "MPIJob",
        "RayCluster",
        "Service",
    }
    assert len(apply(items)) == len(items)
