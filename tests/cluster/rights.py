# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The roles that docs/rights.md recommends."""

from __future__ import annotations

import re

import yaml

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import Object
from ansible_collections.zerocopy.rdma.tests.cluster.provision import CHECKOUT

_RBAC = "rbac.authorization.k8s.io"


def documented(name: str) -> list[Object]:
    """The roles of this name."""
    blocks = re.findall("```yaml\n(.*?)```", (CHECKOUT / "docs" / "rights.md").read_text("utf-8"), re.S)
    found = [item for block in blocks for item in yaml.safe_load_all(block) if item["metadata"]["name"] == name]
    assert found
    return found


def bound(role: Object, user: str) -> Object:
    """A binding of a role to a user."""
    subject = {"kind": "User", "name": user, "apiGroup": _RBAC}
    reference = {"apiGroup": _RBAC, "kind": role["kind"], "name": role["metadata"]["name"]}
    meta = {**role["metadata"], "name": user}
    kind = f"{role['kind']}Binding"
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": meta, "roleRef": reference, "subjects": [subject]}
