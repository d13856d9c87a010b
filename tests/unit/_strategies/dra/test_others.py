# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A DRANET that somebody else runs is found before a second one is deployed, whatever installed it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

UPSTREAM = {"image": "registry.k8s.io/networking/dranet:v1.3.0"}


def daemon_set(name: str, container: dict[str, Any], **pod: Any) -> dict[str, Any]:
    spec = {"template": {"spec": {"containers": [container], **pod}}}
    return {"kind": "DaemonSet", "metadata": {"namespace": "networking", "name": name, "set": ""}, "spec": spec}


@pytest.mark.parametrize(
    ("found", "labels", "own", "refused"),
    [
        (daemon_set("nics", UPSTREAM), {}, {}, True),
        (daemon_set("nics", {"image": "mirror.example.org/Dranet@sha256:00"}), {}, {}, True),
        (daemon_set("dranet", {"image": "example.org/a:1"}), {}, {}, True),
        (daemon_set("nics", {"image": "example.org/a:1", "command": ["/usr/bin/dranet", "--v=4"]}), {}, {}, True),
        (daemon_set("nics", UPSTREAM, nodeSelector={"pool": "gpu"}), {"pool": "gpu"}, {}, True),
        (daemon_set("nics", UPSTREAM, nodeSelector={"pool": "gpu"}), {"pool": "cpu"}, {}, False),
        (daemon_set("nics", UPSTREAM), {}, {"rdma_driver_enabled": "false"}, False),
        (daemon_set("nics", UPSTREAM), {}, {"rdma_strategy": "none"}, False),
        (daemon_set("nics", {"image": "example.org/dranetes:1"}), {}, {}, False),
        # Admission refuses its pods.
        ({**daemon_set("nics", UPSTREAM), "refused": True}, {}, {}, False),
    ],
)
def test_where_it_would_be_the_second_on_a_node(
    found: dict[str, Any], labels: dict[str, str], own: dict[str, Any], refused: bool
) -> None:
    hostvars = {"n1": {"inventory_hostname": "n1", "group_names": ["g"], "rdma_strategy": "dra", **own}}
    problems = strategies({}, ["n1"], hostvars, {"n1": labels}, objects=[found])["problems"]
    place = f"DaemonSet networking/{found['metadata']['name']}, which is not of this inventory, runs DRANET"
    assert [place in text and "rdma_driver_enabled" in text for text in problems] == [True] * refused


def test_our_own_is_none() -> None:
    own = daemon_set("dranet-g", UPSTREAM)
    hostvars = {"n1": {"inventory_hostname": "n1", "group_names": ["g"], "rdma_strategy": "dra"}}
    assert strategies({}, ["n1"], hostvars, {"n1": {}}, daemon_sets=[own], objects=[own])["problems"] == []
