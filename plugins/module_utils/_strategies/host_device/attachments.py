# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""NetworkAttachmentDefinitions of somebody else that an operator would replace, and delete with its own network.

Both do so with one of the same name (``controllers/generic_network_controller.go`` of the SR-IOV operator v1.6.0,
``pkg/state/state_skel.go`` of the Network Operator v26.7.0-rc.2). With our own objects the API server tells.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence, Set, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin import network_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.device_plugin.groups import PluginGroup
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device import sriov_operator
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.programs import PROVIDER
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.host_device.result import HostDevicePlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, wrong

_ATTACHMENT = "NetworkAttachmentDefinition.k8s.cni.cncf.io"
# What operators make one of, of the same name.
_MAKERS = (network_operator.NETWORK, *sriov_operator.NETWORKS)
# Objects to read from the cluster.
LOOKS = tuple((kind, "") for kind in (_ATTACHMENT, *_MAKERS))


def _named(every: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> Set[Tuple[str, str]]:
    """Namespace and name of the NetworkAttachmentDefinitions that objects of these kinds are, or make."""
    names = {kind.partition(".")[0] for kind in kinds}
    found = set()
    for item in every:
        if item["kind"] in names:
            meta, spec = item["metadata"], item.get("spec") or {}
            found.add((str(spec.get("networkNamespace") or meta.get("namespace")), str(meta["name"])))
    return found


def taken(
    group: PluginGroup, found: HostDevicePlan, every: Sequence[Mapping[str, Any]]
) -> Iterator[Tuple[str, Problem]]:
    """What of the cluster is in the way of a group's networks, by host; ``every`` are the objects of LOOKS."""
    if group.values[PROVIDER] == network_operator.PLUGIN:
        return
    theirs = _named(every, [_ATTACHMENT]) - _named(every, _MAKERS)
    for network in found.networks.get(group.name, ()):
        for namespace in found.namespaces.get(group.name, ()):
            if (namespace, network.name) in theirs:
                right = f"but NetworkAttachmentDefinition {namespace}/{network.name} exists already, and the"
                right += " operator would replace it and later delete it: delete or rename it, or rename the group"
                for host in group.hosts:
                    yield host.name, wrong(PROVIDER, group.values[PROVIDER], right)
