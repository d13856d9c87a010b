# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A DRA driver of GPUs that the GPU Operator deploys is found before a second one is deployed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.tests.unit.fleet_answers import strategies

LOOK = {"kind": "GPUCluster.nvidia.com", "name": ""}
FOUND = {"kind": "GPUCluster", "metadata": {"namespace": None, "name": "gpu-cluster", "set": ""}, "spec": {}}


@pytest.mark.parametrize(
    ("deploy", "strategy", "found", "looked", "refused"),
    [
        (True, "dra", [FOUND], True, True),
        ("true", "dra", [FOUND], True, True),
        # The chart is deployed whatever the strategy.
        (True, "shared_device", [FOUND], True, True),
        (True, "dra", [], True, False),
        (False, "dra", [FOUND], False, False),
        (None, "dra", [FOUND], False, False),
    ],
)
def test_where_there_would_be_two(deploy: Any, strategy: str, found: list[Any], looked: bool, refused: bool) -> None:
    hostvars = {
        name: {"group_names": ["g"], "rdma_strategy": strategy, "rdma_driver_gpu_deploy": deploy}
        for name in ("n1", "n2")
    }
    answer = strategies({}, list(hostvars), hostvars, objects=found)
    assert (LOOK in answer["objects"]) is looked
    told = "n[1-2]: rdma_driver_gpu_deploy is True, but NVIDIA's GPU Operator deploys this driver already (GPUCluster "
    assert [told + "gpu-cluster)" in text for text in answer["problems"]] == [True] * refused
