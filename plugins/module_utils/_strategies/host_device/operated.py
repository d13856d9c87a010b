# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What NVIDIA's Network Operator cannot do for this strategy.

Read from ``pkg/state/state_hostdevice_network.go`` and ``manifests`` of Mellanox/network-operator v26.7.0-rc.2.
"""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.variables import STRATEGY, strategy_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import networks
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.programs import PREFIX, PROVIDER
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, wrong

_NAMESPACES = PREFIX + "namespaces"
# What the operator puts before the resource names of its networks; it knows no other.
_RESOURCES = "nvidia.com"


def check(values: Mapping[str, Any]) -> None:
    """:raises PlanError: the Network Operator does not support the variables of a group."""
    but = f"but {PROVIDER} is {values[PROVIDER]}, whose networks"
    if strategy_of(values) == networks.SRIOV:
        right = f"but {STRATEGY} is {networks.SRIOV}, and its plugin does not wait for VFs: set it to"
        right += f" {network_operator.PLUGIN}"
        raise PlanError(wrong(PROVIDER, values[PROVIDER], right))
    name = networks.RESOURCE.prefix_variable
    if values[name] != _RESOURCES:
        raise PlanError(wrong(name, values[name], f"{but} are of {_RESOURCES}/...: set it to {_RESOURCES}"))
    if len(values[_NAMESPACES]) > 1:
        right = f"{but} are in one namespace: name one; pods of others can request <namespace>/<network>"
        raise PlanError(wrong(_NAMESPACES, values[_NAMESPACES], right))
