# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""API servers that serve another version of resource.k8s.io than v1, or none."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.tests.cluster.cluster_set import (
    ClusterSet,
    actions,
    config_map,
    device_class,
    template,
)


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_objects_of_v1_are_applied_in_the_version_that_is_served(
    start_control_plane: Callable[[str], Any],
    run_module: Callable[..., Any],
    cluster_set: ClusterSet,
    version: str,
) -> None:
    older = ClusterSet(run_module, start_control_plane(version), "default")
    wanted = [device_class("rdma"), template("h100", "default", 2)]
    predicted = older(objects=wanted, _ansible_check_mode=True)
    done = older(objects=wanted)
    assert predicted == done
    assert {one["api_version"] for one in done["objects"][:2]} == {f"resource.k8s.io/{version}"}
    [name] = done["names"]["ResourceClaimTemplate"]["default"].values()
    live = older.get(f"resourceclaimtemplates.{version}.resource.k8s.io", name)
    [request] = live["spec"]["spec"]["devices"]["requests"]
    assert (request if version == "v1beta1" else request["exactly"])["count"] == 2
    with older.requests() as requests:
        assert older(objects=wanted)["changed"] is False
    assert {verb for verb, _path in requests} <= {"get", "list"}
    # The name stays the same when the cluster is upgraded to v1.
    newest = cluster_set(objects=[template("h100", cluster_set.namespace, 2)])
    assert newest["names"]["ResourceClaimTemplate"][cluster_set.namespace]["h100"] == name
    changed = older(objects=[device_class("rdma"), template("h100", "default", 1)])
    assert sorted(actions(changed).values()) == ["created", "pruned", "unchanged", "unchanged"]
    assert set(actions(older(state="absent")).values()) == {"pruned"}


def test_without_dra_the_message_says_what_to_switch_on(
    start_control_plane: Callable[[str], Any],
    run_module: Callable[..., Any],
) -> None:
    without = ClusterSet(run_module, start_control_plane("off"), "default")
    failed = without(objects=[config_map("c", "default"), device_class("rdma")])
    assert "Dynamic Resource Allocation is off: the API server (Kubernetes 1." in failed["msg"]
    assert "serves no resource.k8s.io at all" in failed["msg"]
    assert "--runtime-config" in failed["msg"]
    assert without.absent("configmap", "c")
    # What is not about devices works.
    assert without(objects=[config_map("c", "default")])["changed"] is True
    assert without(state="absent")["changed"] is True
