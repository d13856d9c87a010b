# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The container runtimes that this collection knows."""

from __future__ import annotations

from typing import Dict, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import (
    ContainerRuntime,
    RuntimeLayout,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd.runtime import (
    Containerd,
    Rancher,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.crio.runtime import Crio

_ALL: Sequence[ContainerRuntime] = (
    Containerd(),
    Rancher("k3s", "k3s", ("k3s.service", "k3s-agent.service"), "data/current/bin", ("k3s", "ctr")),
    Rancher("rke2", "RKE2", ("rke2-server.service", "rke2-agent.service"), "bin", ()),
    Crio(),
)
RUNTIMES: Dict[str, ContainerRuntime] = {runtime.name: runtime for runtime in _ALL}
# Values of the option ``runtime``.
CHOICES = ["auto", *RUNTIMES]


def of(layout: RuntimeLayout) -> ContainerRuntime:
    """The runtime that the layout is of."""
    return RUNTIMES[layout.runtime]
