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
    counts, *others = _object_diffs.shown([*LABELS, *OBJECTS], 0, False)
    assert counts["prepared"].splitlines() == [
        "4 objects: 2 created, 1 changed, 1 removed (-v shows them)",
        "  + 2 DaemonSet: kube-system/dranet-h100, kube-system/dranet-a100",
        "  ~ 1 ConfigMap: kube-system/settings",
        "  - 1 Secret: kube-system/old",
    ]
    assert others == LABELS
    assert _object_diffs.shown([*LABELS, *OBJECTS], 1, False) == [counts, *LABELS, *OBJECTS]


def test_what_is_no_object_stays() -> None:
    assert _object_diffs.shown(LABELS, 0, True) == LABELS
    assert _object_diffs.shown([], 0, True) == []


def test_manifests() -> None:
    file = {"before_header": "/m/a.yml", "after_header": "/m/a.yml", "before": "", "after": "kind: Secret\n"}
    (counts,) = _object_diffs.shown([file], 0, False, manifests=True)
    assert counts["prepared"].splitlines() == ["1 file: 1 created (-v shows them)", "  + 1 file: /m/a.yml"]
    assert _object_diffs.shown([file], 2, False, manifests=True) == [counts, file]


def test_a_dry_run_says_what_is_to_be_done() -> None:
    counts, *_others = _object_diffs.shown(OBJECTS, 0, True)
    first = counts["prepared"].splitlines()[0]
    assert first == "4 objects: 2 to be created, 1 to be changed, 1 to be removed (-v shows them)"
    files = [
        {"before_header": path, "after_header": path, "before": "", "after": "kind: Secret\n"} for path in ("/a", "/b")
    ]
    (counts,) = _object_diffs.shown(files, 0, True, manifests=True)
    assert counts["prepared"].splitlines() == ["2 files: 2 to be created (-v shows them)", "  + 2 files: /a, /b"]
