# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""Sandbox records that failed NRI attaches leave in containerd 2, and their removal.

The next start of containerd stops at the first record whose name another one has ("failed to reserve sandbox name"),
again and again; a single record is adopted as a ready pod without a NIC. The CRI does not list such records, and the
sandbox store does not have them, which is how they are told from pods. containerd 1.7 leaves none.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import cri
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import Effective
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    TomlDocument,
    quoted,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.duration import nanoseconds
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

SYMPTOM = "failed to reserve sandbox name"
_RECOVERY = "/run/zerocopy-rdma-recovery.toml"
_OVERRIDE = "/run/systemd/system/{}.d/90-zerocopy-rdma-recovery.conf"


@dataclass(frozen=True)
class Leak:
    """A record and the sandbox name it holds (pod, namespace, uid and attempt, joined by underscores)."""

    identity: str
    name: str

    def __str__(self) -> str:
        return f"{self.name} ({self.identity[:12]})"


def now(socket: str, config_version: int) -> List[Leak]:
    """Records without a pod at this moment. An attach in progress looks the same.

    :raises HostError: containerd does not answer.
    """
    records = cri.sandbox_records(socket)
    if not records:
        return []
    if config_version > 2:
        known = cri.stored_sandboxes(socket)
    else:
        # 1.7 has no sandbox store; there only a name held twice would be wrong.
        names = list(records.values())
        known = [identity for identity, name in records.items() if names.count(name) == 1]
        known += cri.sandboxes(socket)
    return [Leak(identity, name) for identity, name in sorted(records.items()) if identity not in known]


def find(layout: RuntimeLayout, effective: Effective) -> List[Leak]:
    """Records without a pod, of a containerd that answers, that outlast the NRI request timeout.

    :raises HostError: containerd does not answer.
    """
    leaks = now(layout.socket, effective.version)
    grace = (nanoseconds(effective.get("nri", ("plugin_request_timeout",))) or 2 * 10**9) / 1e9 + 1
    deadline = time.monotonic() + grace
    while leaks and time.monotonic() < deadline:
        time.sleep(0.5)
        again = set(now(layout.socket, effective.version))
        leaks = [leak for leak in leaks if leak in again]
    return leaks


def danger(leaks: List[Leak]) -> str:
    """The consequences, and the remedy."""
    return (
        f"{counted(len(leaks), 'sandbox record')} left behind by failed NRI attaches would prevent containerd from"
        " starting, or come back as pods without their NIC (containerd issue 13609):"
        f" {', '.join(map(str, leaks))}. Set rdma_runtime_recover_sandboxes to remove them; running pods are not"
        " affected"
    )


def remove(layout: RuntimeLayout, leaks: List[Leak], run: Runner) -> None:
    """Remove leaked records and the pause process that some still have.

    :raises HostError: containerd keeps one.
    """
    ctr = [*layout.ctr, "-a", layout.socket, "-n", "k8s.io"]
    for leak in leaks:
        # Fails for a record without a task, which is the state after a reboot.
        run([*ctr, "tasks", "rm", "--force", leak.identity], timeout=60)
        must(run([*ctr, "containers", "rm", leak.identity], timeout=60), f"cannot remove sandbox record {leak}")


def recover_stopped(files: Files, layout: RuntimeLayout, effective: Effective, run: Runner) -> List[Leak]:
    """Remove records that keep containerd from starting, by starting it once without its CRI.

    With another root or state, containerd would take the bundles of running pods for leftovers and delete them. So it
    gets all that its unit gives it, and a configuration that is its own one but for the CRI.

    :raises HostError: it does not start even so, or cannot be started exactly like that; nothing is changed then.
    """
    if layout.generated:
        raise HostError(
            f"{layout.unit} cannot start because of sandbox records without a pod ({SYMPTOM!r}). It runs containerd"
            " itself, so the records cannot be removed automatically: start that containerd manually with its CRI"
            " disabled and remove the records whose IDs 'ctr -n k8s.io sandboxes ls' does not list"
        )
    # Only needed here, and what is sent to a node is compiled there in each call.
    from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import exec_start

    try:
        words = exec_start.command(layout, run)
    except HostError as error:
        raise HostError(f"{_cannot(layout)}: {error}") from error
    layout = of(layout).configured(layout, words)
    present = files.exists(layout.main)
    if not present and layout.main != of(layout).layout(layout.unit).main:
        raise HostError(f"{_cannot(layout)}: {layout.main}, which its ExecStart names as --config, does not exist")
    disabled = '["io.containerd.grpc.v1.cri"]'
    imports = f"imports = [{quoted(layout.main)}]\n" if present else ""
    _write(files, _RECOVERY, f"version = {effective.version}\n{imports}disabled_plugins = {disabled}\n")
    text = f"[Service]\nExecStart=\nExecStart={exec_start.with_config(words, _RECOVERY)}\n"
    _write(files, _OVERRIDE.format(layout.unit), text)
    try:
        must(run(["systemctl", "daemon-reload"]), "systemctl daemon-reload")
        must(run(["systemctl", "restart", layout.unit], timeout=120), f"{layout.unit} does not start without its CRI")
        leaks = now(layout.socket, effective.version)
        remove(layout, leaks, run)
    finally:
        undo(files, layout, run)
    return leaks


def _cannot(layout: RuntimeLayout) -> str:
    return (
        f"{layout.unit} cannot start because of sandbox records without a pod ({SYMPTOM!r}), and cannot be started"
        " without its CRI to remove them, so nothing is changed"
    )


def undo(files: Files, layout: RuntimeLayout, run: Runner) -> bool:
    """Restore the unit after a recovery, even a killed one; true if there was anything to restore."""
    override = _OVERRIDE.format(layout.unit)
    found = [path for path in (override, _RECOVERY) if files.exists(path)]
    for path in found:
        files.remove(path)
    if found:
        files.remove_empty_directory(override.rpartition("/")[0])
        must(run(["systemctl", "daemon-reload"]), "systemctl daemon-reload")
    return bool(found)


def without_recovery(files: Files, layout: RuntimeLayout, default: RuntimeLayout) -> RuntimeLayout:
    """The layout of a containerd that a killed recovery has left without its CRI, as its unit's own start makes it."""
    if layout.main != _RECOVERY:
        return layout
    imports = TomlDocument(files.text(_RECOVERY) or "", _RECOVERY).get(("imports",), [])
    return replace(layout, main=str(imports[0]) if imports else default.main)


def _write(files: Files, path: str, text: str) -> None:
    files.write(path, Stored(text.encode(), 0o644, 0, 0))
