# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether the GPUs of a node have two owners: a DRA driver that publishes them, and a device plugin.

Neither knows what the other has allocated. The role rdma_driver refuses to deploy NVIDIA's driver beside a device
plugin, but a site may run the driver itself, or deploy the device plugin later.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterable, Iterator, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.extended_resources import AMD, NVIDIA, Names
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import gpu_owners
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import (
    AMD_DRIVER,
    GPU_DRIVER,
    SliceDevice,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_VENDORS = {GPU_DRIVER: NVIDIA, AMD_DRIVER: AMD}


def checks(
    groups: Mapping[str, str], nodes: Mapping[str, Mapping[str, Any]], devices: Iterable[SliceDevice], more: Names
) -> Iterator[Check]:
    """One for each driver that publishes GPUs of a host. ``groups`` has the group of each, ``nodes`` are live ones."""
    published = Counter((device.node, device.driver) for device in devices)
    for host, group in groups.items():
        for driver, vendor in _VENDORS.items():
            number = published[host, driver]
            if not number or host not in nodes:
                continue
            resources = gpu_owners.offered(nodes[host], vendor, more)
            remedy, verdict = "", "pass"
            text = f"no device plugin allocates the GPUs that {driver} publishes"
            if resources:
                verdict = "fail"
                text = (
                    f"{driver} publishes {counted(number, 'device')}, and a device plugin offers"
                    f" {', '.join(resources)}: a GPU can be given to two pods at once"
                )
                remedy = "Keep either the device plugin or the DRA driver of the GPUs off this node."
            evidence = {"devices": number, "resources": resources}
            yield Check("cluster", "cluster.gpus", host, group, driver, verdict, text, evidence, remedy)
