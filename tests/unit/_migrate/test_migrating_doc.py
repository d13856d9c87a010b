# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What docs/migrating.md shows of a walk through a small fleet is what the commands print."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube import yaml_text
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import rewrite
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests.choice import (
    NamedRequest,
    RewriteOptions,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes import moves
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.nodes.use import NodeUse, User
from ansible_collections.zerocopy.rdma.tests.unit._migrate.audit_manifests import audited

_DOC = (Path(__file__).resolve().parents[3] / "docs" / "migrating.md").read_text("utf-8")
_GROUP, _SHARED = (
    "zerocopy.rdma.node-restriction.kubernetes.io/group",
    "zerocopy.rdma.node-restriction.kubernetes.io/shared-device",
)
_WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: llm
spec:
  template:
    metadata:
      labels: {app: llama, role: NAME}
    spec:
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      containers:
        - name: vllm
          image: ghcr.io/llm-d/llm-d-cuda:v0.3.0
          args: ["--model=llama", "--port=PORT"]
          ports:
            - containerPort: PORT
          resources:
            limits: {nvidia.com/gpu: 1, rdma/rdma_v100: 1}
            requests: {rdma/rdma_v100: 1}
          securityContext:
            capabilities: {add: [IPC_LOCK]}
"""
_POOL = """\
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama, namespace: llm}
spec:
  selector:
    matchLabels: {app: llama}
  targetPorts:
    - number: 8000
    - number: 8300
"""
_TEXTS = [
    _WORKLOAD.replace("NAME", name).replace("PORT", port) for name, port in (("decode", "8000"), ("prefill", "8300"))
]
_ITEMS = [yaml.safe_load(text) for text in (*_TEXTS, _POOL)]


def test_the_audit() -> None:
    text = audited(_ITEMS)["text"]
    start = text.index("  Deployment llm/decode")
    assert text[start : text.index("\n\n", start)] in _DOC


def test_the_rewrite() -> None:
    ask = NamedRequest("v100-1nic", templates={"llm": "v100-1nic-e7fd647151"})
    wanted = rewrite.rewritten(_ITEMS, RewriteOptions([ask])).documents
    after = yaml_text.changed(_TEXTS[1], [_ITEMS[1]], [wanted[1]])
    for line in after[after.index("    spec:\n") :].splitlines():
        assert f"\n {line}\n" in _DOC or f"\n+{line}\n" in _DOC
    gone = set(_TEXTS[1].splitlines()) - set(after.splitlines())
    assert all(f"\n-{line}\n" in _DOC for line in gone)


def _plan(to: str, moving: list[str], *nodes: NodeUse) -> str:
    hosts = [InventoryHost(node.name, "v100", {"rdma_strategy": to}) for node in nodes]
    found = moves.plan(hosts, {node.name: node for node in nodes}, moving, moves.MoveOptions())
    return moves.text(found)


def _old(name: str, app: str) -> NodeUse:
    owner = f"ReplicaSet llm/{app}-7d4b9c6f8"
    user: Any = User("llm", f"{app}-7d4b9c6f8-x2x5t", "u", "rdma/rdma_v100", owner, "ReplicaSet")
    return NodeUse(name, {_SHARED: "v100"}, resources={"rdma/rdma_v100": 63}, users=[user])


def test_the_moves() -> None:
    first, second = _old("v100-01", "decode"), _old("v100-02", "prefill")
    moved = [NodeUse(name, {_GROUP: "v100"}) for name in ("v100-01", "v100-02")]
    both = ["v100-01", "v100-02"]
    assert _plan("dra", ["v100-01"], first, second) in _DOC
    assert _plan("dra", both, moved[0], second) in _DOC
    back = _plan("shared_device", both, *moved)
    shown = textwrap.dedent(back.partition("    cordon")[2].partition("Wave 2:")[0])
    assert all(line.strip() in _DOC for line in shown.splitlines())
    assert back.partition("Wave 2:")[0] in _DOC
