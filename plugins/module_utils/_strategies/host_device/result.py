# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a plan of NICs and VFs for pods has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import (
    PluginGroup,
    PluginPlan,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.objects import (
    HostDevices,
    PodNetwork,
)


@dataclass
class HostDevicePlan(PluginPlan):
    """``configurations`` have the hosts on which they apply with the number of NICs by the full name of the resource.

    ``networks`` are those of pods by group, in the order of the rails, ``namespaces`` where they are defined, and
    ``hcas`` the HCAs that a node has for each of them.
    ``beside`` are the DaemonSets that every node of the strategy needs, ``layers`` the link layers by group. ``groups``
    are those whose variables are right. ``operators`` have the namespace of the SR-IOV operator by group, where it
    hands out the VFs.
    """

    namespaces: Dict[str, List[str]] = field(default_factory=dict)
    configurations: List[Tuple[HostDevices, Dict[str, Dict[str, int]]]] = field(default_factory=list)
    networks: Dict[str, List[PodNetwork]] = field(default_factory=dict)
    hcas: Dict[str, List[Dict[str, List[str]]]] = field(default_factory=dict)
    beside: List[str] = field(default_factory=list)
    layers: Dict[str, str] = field(default_factory=dict)
    operators: Dict[str, str] = field(default_factory=dict)
    groups: List[PluginGroup] = field(default_factory=list)
