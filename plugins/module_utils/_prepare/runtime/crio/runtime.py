# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""CRI-O."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import (
    ContainerRuntime,
    Installation,
    Parts,
    RuntimeLayout,
    given,
)

if TYPE_CHECKING:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import RuntimePlan
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import OurFiles


class Crio(ContainerRuntime):
    name = process = "crio"
    title = "CRI-O"
    units = ("crio.service",)
    traces = ("/etc/crio", "/usr/bin/crio")
    # Variables that are set, but empty, count as well (urfave/cli).
    environment = MappingProxyType(
        {"CONTAINER_CONFIG": "--config", "CONTAINER_CONFIG_DIR": "--config-dir", "CONTAINER_LISTEN": "--listen"}
    )
    other_import = "load it with 'podman load' into the storage that CRI-O uses"

    def layout(self, unit: str) -> RuntimeLayout:
        return RuntimeLayout(
            self.name,
            unit,
            main="/etc/crio/crio.conf",
            dropins="/etc/crio/crio.conf.d",
            specs="/etc/crio",
            socket="/var/run/crio/crio.sock",
            binaries=("/usr/bin/crio", "/usr/local/bin/crio"),
            ctr=(),
        )

    def configured(self, layout: RuntimeLayout, arguments: Sequence[str]) -> RuntimeLayout:
        names = {"config": "main", "c": "main", "config-dir": "dropins", "d": "dropins", "listen": "socket"}
        found = given(arguments, names)
        return replace(
            layout,
            # An empty path is none, which is not the default.
            main=found.get("main", layout.main),
            dropins=found.get("dropins", layout.dropins),
            socket=found.get("socket", layout.socket),
        )

    def plan(self, installed: Installation, parts: Parts, own: OurFiles) -> RuntimePlan:
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.crio import plan

        return plan.make(installed, parts, own)
