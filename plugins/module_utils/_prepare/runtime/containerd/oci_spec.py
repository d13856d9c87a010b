# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""RLIMIT_MEMLOCK in an OCI runtime specification."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

_TYPE = "RLIMIT_MEMLOCK"


def parse(text: str, name: str) -> Dict[str, Any]:
    """A specification that could be used as a base.

    :raises HostError: it is not a JSON object with a ``process``, or its limits are not as the specification has them.
    """
    try:
        # JSON is UTF-8.
        text.encode()
        spec = json.loads(text)
        valid = isinstance(spec["process"], dict) and isinstance(spec.get("linux", {}), dict)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        valid = False
    if not valid:
        raise HostError(f"{name} is not an OCI runtime specification (a JSON object with a 'process')")
    rlimits = spec["process"].get("rlimits")
    if rlimits is not None and not (isinstance(rlimits, list) and all(map(_is_rlimit, rlimits))):
        raise HostError(
            f"{name}: process.rlimits must be a list of limits, each with a 'type' and integers 'hard' and 'soft' from"
            " 0 to 18446744073709551615"
        )
    return dict(spec)


def _is_rlimit(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
        return False
    limits = [entry.get(side, 0) for side in ("hard", "soft")]
    return all(isinstance(limit, int) and not isinstance(limit, bool) and 0 <= limit < 2**64 for limit in limits)


def without_default_security(spec: Dict[str, Any]) -> Dict[str, Any]:
    """The default specification without the parts that containerd's CRI removes before using it.

    It removes nothing from a base specification, so every pod would get the limit of 1024 open files from the runtime's
    default (``ctr oci spec``); see WithoutDefaultSecuritySettings in containerd.
    """
    process = {key: value for key, value in spec["process"].items() if key not in ("rlimits", "apparmorProfile")}
    linux = {key: value for key, value in spec.get("linux", {}).items() if key != "seccomp"}
    return {**spec, "process": process, "linux": linux}


def with_memlock(spec: Dict[str, Any], wanted: int) -> Dict[str, Any]:
    """The same specification with both limits of locked memory at ``wanted`` bytes, or higher if they already are."""
    rlimits: List[Dict[str, Any]] = list(spec["process"].get("rlimits") or [])
    have = next((entry for entry in rlimits if entry.get("type") == _TYPE), {})
    raised = {"type": _TYPE, **{side: max(wanted, have.get(side, 0)) for side in ("hard", "soft")}}
    rlimits = [entry for entry in rlimits if entry.get("type") != _TYPE] + [raised]
    return {**spec, "process": {**spec["process"], "rlimits": rlimits}}


def rendered(spec: Dict[str, Any]) -> str:
    return json.dumps(spec, indent=1, sort_keys=True) + "\n"


def default() -> Dict[str, Any]:
    """What ``ctr oci spec`` of containerd 1.7.24 prints, for a root directory where nothing can be run."""
    capabilities = (
        "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL"
        " AUDIT_WRITE"
    )
    held = [f"CAP_{name}" for name in capabilities.split()]
    safe = ["nosuid", "noexec", "nodev"]
    mounts = [
        ("/proc", "proc", "proc", safe),
        ("/dev", "tmpfs", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
        ("/dev/pts", "devpts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]),
        ("/dev/shm", "tmpfs", "shm", [*safe, "mode=1777", "size=65536k"]),  # noqa: S108  (of a container)
        ("/dev/mqueue", "mqueue", "mqueue", safe),
        ("/sys", "sysfs", "sysfs", [*safe, "ro"]),
        ("/run", "tmpfs", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
    ]
    masked = "/proc/acpi /proc/asound /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list /proc/timer_stats"
    masked += " /proc/sched_debug /sys/firmware /sys/devices/virtual/powercap /proc/scsi"
    return {
        "ociVersion": "1.2.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "cwd": "/",
            "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), held),
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}],
            "noNewPrivileges": True,
        },
        "root": {"path": "rootfs"},
        "mounts": [dict(zip(("destination", "type", "source", "options"), mount)) for mount in mounts],
        "linux": {
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
            "cgroupsPath": "/default",
            "namespaces": [{"type": name} for name in ("pid", "ipc", "uts", "mount", "network")],
            "maskedPaths": masked.split(),
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    }
