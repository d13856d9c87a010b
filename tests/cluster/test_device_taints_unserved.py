# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""API servers that have no DeviceTaintRule: nothing is made, and that is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import Policy
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.cluster import UNSERVED
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.taints import NicState, NodeState
from ansible_collections.zerocopy.rdma.plugins.modules import device_taints


@pytest.mark.parametrize("version", ["v1beta2", "off"])
def test_an_older_api_server_is_left_alone(
    start_control_plane: Callable[[str], Any], run_module: Callable[..., Any], version: str
) -> None:
    nic = NicState("n1", "0000:1a:00.0", "mlx5_0", ("0000:1a:00.0",), "sick", 2, "port_state")
    own = {
        "name": "zerocopy-rdma-health",
        "namespace": "kube-system",
        "kubeconfig": str(start_control_plane(version).kubeconfig),
    }
    nodes = {"n1": {**asdict(NodeState("h100", 1, Policy("NoSchedule"), "dra.net")), "well": []}}
    done = run_module(device_taints, **own, nodes=nodes, nics=[asdict(nic)])
    assert (done["changed"], done["rules"], done["notes"]) == (False, [], [UNSERVED])
    assert run_module(device_taints, **own, state="absent")["changed"] is False
