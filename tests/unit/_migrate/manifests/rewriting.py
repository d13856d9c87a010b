# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Requests of groups that tests rewrite workloads for, and what became of these."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import workloads
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import revert, rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import NAMESPACE, Object

ONE = NamedRequest("one-nic", templates={NAMESPACE: "one-nic-0a1b2c3d4e"})
PAIR = NamedRequest("pair", templates={NAMESPACE: "pair-5f6a7b8c9d"}, gpus=1)
SINGLE = NamedRequest("nic-a", claims={NAMESPACE: "nic-a-1111111111"})
SHARED = NamedRequest("rdma/shared", limits={"rdma/shared": 1})
RAIL = NamedRequest("rdma/rail", limits={"rdma/rail": 1}, annotations={"k8s.v1.cni.cncf.io/networks": "llm/rail"})
NEAREST = NamedRequest(
    "nearest",
    limits={"rdma.io/hca": 1},
    annotations={"rdma.zerocopy.io/nics": "nearest"},
    capabilities=(),
    gpu_resource="nvidia.com/gpu",
)
WISH = RewriteOptions([ONE])


def moved(*items: Object, options: RewriteOptions = WISH) -> tuple[list[Object], list[tuple[str, str, str]]]:
    found = rewrite.rewritten(items, options)
    return found.documents, [(note.ref.name, note.level, note.text) for note in found.notes]


def only(item: Object, options: RewriteOptions = WISH) -> Object:
    """The object without the way back."""
    (found,), notes = moved(item, options=options)
    assert [note for note in notes if note[1] == "cannot"] == []
    assert found["metadata"]["annotations"].pop(revert.BEFORE)
    if not found["metadata"]["annotations"]:
        del found["metadata"]["annotations"]
    return found


def refused(item: Object, options: RewriteOptions = WISH) -> str:
    (found,), notes = moved(item, options=options)
    assert found == item
    (why,) = [text for _name, level, text in notes if level == "cannot"]
    return why


def container(item: Object) -> Object:
    (template,) = workloads.templates(workloads.ref_of(item, "").kind, item)
    first: Object = template.spec["containers"][0]
    return first
