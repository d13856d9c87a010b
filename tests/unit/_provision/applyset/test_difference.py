# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import copy
from typing import Any, Dict

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import ObjectKey
from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.applyset.difference import difference, same

FIELDS: Dict[str, Any] = {"f:data": {"f:a": {}}}


def live(**data: str) -> Dict[str, Any]:
    entry = {"manager": "zerocopy.rdma", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": FIELDS}
    meta = {"name": "c", "uid": "u", "resourceVersion": "7", "generation": 1, "managedFields": [entry]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data, "status": {"seen": True}}


def test_only_what_people_care_for_is_shown() -> None:
    shown = difference(ObjectKey("", "ConfigMap", "ns", "c"), live(a="1"), live(a="2"))
    assert shown == {
        "before_header": "ConfigMap ns/c",
        "after_header": "ConfigMap ns/c",
        "before": {"metadata": {"name": "c"}, "data": {"a": "1"}},
        "after": {"metadata": {"name": "c"}, "data": {"a": "2"}},
    }
    assert (
        difference(ObjectKey("", "ConfigMap", "ns", "c"), None, live(a="2"))["before_header"]
        == "ConfigMap ns/c (absent)"
    )


def test_of_a_secret_only_what_differs_is_told() -> None:
    key = ObjectKey("", "Secret", "ns", "s")
    shown = difference(key, live(kept="x", gone="password", other="old"), live(kept="x", other="new"))
    assert shown["before"]["data"] == {"kept": "***", "gone": "*** (before)", "other": "*** (before)"}
    assert shown["after"]["data"] == {"kept": "***", "other": "*** (after)"}
    assert "old" not in str(shown)
    assert difference(key, live(a="password"), None)["before"]["data"] == {"a": "*** (before)"}


def test_what_kubectl_remembers_of_a_secret_is_not_shown() -> None:
    last_applied = "kubectl.kubernetes.io/last-applied-configuration"
    before, after = live(a="MQ=="), live(a="Mg==")
    before["metadata"]["annotations"] = {last_applied: '{"stringData": {"a": "password"}}', "kept": "yes"}
    shown = difference(ObjectKey("", "Secret", "ns", "s"), before, after)
    assert "password" not in str(shown)
    assert shown["before"]["metadata"]["annotations"] == {last_applied: "***", "kept": "yes"}
    assert before["metadata"]["annotations"][last_applied] != "***"


def test_times_versions_and_status_are_no_difference() -> None:
    after = live(a="1")
    after["metadata"].update(resourceVersion="8", generation=2)
    after["metadata"]["managedFields"][0]["time"] = "2027-01-01T00:00:00Z"
    del after["status"], after["apiVersion"], after["kind"]
    assert same(live(a="1"), after, "zerocopy.rdma")
    assert not same(live(a="1"), live(a="2"), "zerocopy.rdma")


def test_to_own_another_field_is_a_difference() -> None:
    after = copy.deepcopy(live(a="1"))
    after["metadata"]["managedFields"][0]["fieldsV1"] = {}
    assert not same(live(a="1"), after, "zerocopy.rdma")
