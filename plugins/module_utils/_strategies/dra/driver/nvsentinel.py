# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""NVSentinel's NIC monitor, which takes an HCA that is in a pod for one that has failed.

Source: NVIDIA/NVSentinel, main of 2026-08-21 (its README installs 1.19.0), health-monitors/nic-health-monitor:
pkg/checks/state/base.go (three looks without the device, REPLACE_VM), pkg/discovery/discovery.go (VFs and other vendors
are left out), main.go (the options), and the chart of the same name below distros/kubernetes/nvsentinel.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import at, entries, texts
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.base.strategy import ClusterState
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import others
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

# Without NVSentinel's own path, which a mirror may not have.
_IMAGE = re.compile(r".*/nic-health-monitor(?![a-z0-9-]).*")
_STATE_CHECKS = ("InfiniBandStateCheck", "EthernetStateCheck")
_NETNS_MODE = "rdma_kernel_netns_mode"


def warnings(hosts: Sequence[InventoryHost], cluster: ClusterState) -> List[str]:
    """For hosts of this strategy: what of NVSentinel would report their HCAs as failed while pods have them."""
    monitors = [item for item in cluster.objects or () if item["kind"] == "DaemonSet" and _reports(item)]
    found: Dict[str, List[str]] = {}
    for host in hosts if monitors else ():
        mode = host.variables.get(_NETNS_MODE) or (host.facts and host.facts.system.netns_mode)
        if mode != "exclusive" or not _looked_at(host):
            continue
        there = [item for item in monitors if others.for_node(item, cluster.labels.get(host.name, {}))]
        if there:
            meta = there[0]["metadata"]
            found.setdefault(f"{meta['namespace']}/{meta['name']}", []).append(host.name)
    return [
        f"{fold(names)}: in RDMA netns mode exclusive, an HCA leaves the node while a pod has it, and NVSentinel's NIC "
        f"monitor (DaemonSet {place}) reports that as a failed NIC, for which NVSentinel can cordon, drain and replace "
        f"the node: give NVSentinel the settings of docs/health-checks.md, or set {_NETNS_MODE} to shared"
        for place, names in found.items()
    ]


def _looked_at(host: InventoryHost) -> bool:
    """Whether it has an HCA that the monitor looks at; unknown without facts."""
    if host.facts is None:
        return True
    return any(
        hca.pci is not None and hca.pci.vendor_id == "15b3" and not hca.software and hca.sriov.pf_address is None
        for hca in host.facts.hcas
    )


def _reports(item: Mapping[str, Any]) -> bool:
    """Whether it runs the monitor, with a check of states, and so that the rest of NVSentinel acts on it."""
    for container in entries(others.pod(item).get("containers")):
        if _IMAGE.fullmatch(f"/{str(at(container, 'image') or '').partition('@')[0].lower()}"):
            words = texts(container.get("command")) + texts(container.get("args"))
            checks = _option(words, "checks")
            acts = _option(words, "processing-strategy") != "STORE_ONLY"
            return acts and (checks is None or any(check.strip() in _STATE_CHECKS for check in checks.split(",")))
    return False


def _option(words: Sequence[str], name: str) -> Optional[str]:
    """The value of an option of a program written in Go (package flag), the last one if there are several."""
    return next(_values(words[::-1], name), None)


def _values(backwards: Sequence[str], name: str) -> Iterator[str]:
    after = ""
    for word in backwards:
        option, equals, value = word.partition("=")
        if option in (f"-{name}", f"--{name}"):
            yield value if equals else after
        after = word
