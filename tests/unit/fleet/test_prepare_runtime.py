# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The recorded nodes' container runtimes are found and prepared as the roles do it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import RuntimeOutcome

CONF_D = "etc/containerd/conf.d"
K3S = "var/lib/rancher/k3s/agent/etc/containerd"


def call(root: Path) -> RuntimeOutcome:
    params = {name: spec.get("default") for name, spec in options.ARGUMENTS.items()}
    return converge(options.request(params, check=False), Files(str(root)))


@pytest.mark.parametrize(
    ("name", "runtime", "unit", "handlers", "place"),
    [
        ("v100-02", "containerd", "containerd.service", ["nvidia", "runc"], "etc/containerd/config.toml"),
        (
            "h100-02",
            "containerd",
            "containerd.service",
            ["nvidia", "runc"],
            "etc/containerd/conf.d/90-zerocopy-rdma-nri.toml",
        ),
        ("h100-03", "crio", "crio.service", [], "etc/crio/crio.conf.d/90-zerocopy-rdma-nri.conf"),
        ("a100-01", "rke2", "rke2-server.service", [], "var/lib/rancher/rke2/agent/etc/containerd/config-v3.toml.tmpl"),
        ("lab-01", "k3s", "k3s.service", ["nvidia", "runc"], f"{K3S}/config-v3.toml.d/90-zerocopy-rdma-nri.toml"),
        ("lab-02", "k3s", "k3s.service", ["nvidia"], f"{K3S}/config.toml.tmpl"),
    ],
)
def test_prepared(
    name: str,
    runtime: str,
    unit: str,
    handlers: list[str],
    place: str,
    root_of: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    root = tmp_path / name
    shutil.copytree(root_of(name), root, symlinks=True)
    done = call(root)
    assert (done.facts["runtime"], done.facts["unit"], done.facts["handlers"]) == (runtime, unit, handlers)
    changed: list[Any] = [change.name for change in done.changes]
    assert f"/{place}" in changed
    assert (root / f"etc/systemd/system/{unit}.d/90-zerocopy-rdma-memlock.conf").exists()
    assert call(root).changes == []
