# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``--diff`` of a cluster: counts first, objects as a whole only with ``-v``."""

from __future__ import annotations

from typing import Any

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import ObjectKey
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.difference import difference
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.nodes import diff
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _object_diffs


def entry(kind: str, name: str, before: int, after: int) -> dict[str, Any]:
    """The difference of an object that has these values, 0 for one that is not there."""
    sides = [{"metadata": {"name": name}, "spec": value} if value else None for value in (before, after)]
    return difference(ObjectKey("", kind, "kube-system", name), *sides)


LABELS = diff("labels of nodes", "", "n1 zerocopy.rdma.node-restriction.kubernetes.io/group: h100\n")
OBJECTS = [
    entry("DaemonSet", "dranet-h100", 0, 1),
    entry("ConfigMap", "settings", 1, 2),
    entry("DaemonSet", "dranet-a100", 0, 1),
    entry("Secret", "old", 1, 0),
]


def test_counts_come_first_and_objects_with_verbosity() -> None:
    counts, *others = _object_diffs.shown([*LABELS, *OBJECTS], 0)
    assert counts["prepared"].splitlines() == [
        "4 objects: 2 created, 1 changed, 1 removed (-v shows them)",
        "  + 2 DaemonSet: kube-system/dranet-h100, kube-system/dranet-a100",
        "  ~ 1 ConfigMap: kube-system/settings",
        "  - 1 Secret: kube-system/old",
    ]
    assert others == LABELS
    assert _object_diffs.shown([*LABELS, *OBJECTS], 1) == [counts, *LABELS, *OBJECTS]


def test_what_is_no_object_stays() -> None:
    assert _object_diffs.shown(LABELS, 0) == LABELS
    assert _object_diffs.shown([], 0) == []


def test_manifests() -> None:
    file = {"before_header": "/m/a.yml", "after_header": "/m/a.yml", "before": "", "after": "kind: Secret\n"}
    (counts,) = _object_diffs.shown([file], 0, manifests=True)
    assert counts["prepared"].splitlines() == ["1 file: 1 created (-v shows them)", "  + 1 file: /m/a.yml"]
    assert _object_diffs.shown([file], 2, manifests=True) == [counts, file]
