# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""containerd as distributions and Docker's repository install it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Sequence, Tuple

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


class Containerd(ContainerRuntime):
    name = title = process = "containerd"
    units: Tuple[str, ...] = ("containerd.service",)
    traces: Tuple[str, ...] = ("/etc/containerd", "/usr/bin/containerd", "/usr/local/bin/containerd")
    leaves_records = True

    def layout(self, unit: str) -> RuntimeLayout:
        return RuntimeLayout(
            self.name,
            unit,
            main="/etc/containerd/config.toml",
            dropins="/etc/containerd/conf.d",
            specs="/etc/containerd",
            socket="/run/containerd/containerd.sock",
            binaries=("/usr/bin/containerd", "/usr/local/bin/containerd"),
        )

    def configured(self, layout: RuntimeLayout, arguments: Sequence[str]) -> RuntimeLayout:
        names = {"config": "main", "c": "main", "address": "socket", "a": "socket", "root": "root", "state": "state"}
        found = given(arguments, names)
        return replace(
            layout,
            main=found.get("main") or layout.main,
            socket=found.get("socket") or layout.socket,
            placed=bool(found.get("root") and found.get("state")),
        )

    def plan(self, installed: Installation, parts: Parts, own: OurFiles) -> RuntimePlan:
        from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd import plan

        return plan.make(installed, parts, own)


class Rancher(Containerd):
    """A Kubernetes distribution that runs a containerd of its own and writes its configuration at every start."""

    brings = ("containerd",)

    def __init__(self, name: str, title: str, units: Sequence[str], tools: str, ctr: Sequence[str]) -> None:
        self.name, self.title, self.units = name, title, tuple(units)
        self._directory = f"/var/lib/rancher/{name}/agent/etc/containerd"
        self._tools, self._ctr = f"/var/lib/rancher/{name}/{tools}", tuple(ctr)
        self.traces = (self._directory,)

    def layout(self, unit: str) -> RuntimeLayout:
        return RuntimeLayout(
            self.name,
            unit,
            main=f"{self._directory}/config.toml",
            dropins=self._directory,
            specs=self._directory,
            socket="/run/k3s/containerd/containerd.sock",
            binaries=(f"{self._tools}/containerd",),
            ctr=self._ctr or (f"{self._tools}/ctr",),
            generated=True,
        )
