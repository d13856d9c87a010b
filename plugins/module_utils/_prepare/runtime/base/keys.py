# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The keys that NRI, CDI and the memory lock need, compared with the effective configuration, and a plan of files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.unix_socket import NRI_SOCKET
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import Path, lookup
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.duration import nanoseconds

NRI: Path = ("plugins", "io.containerd.nri.v1.nri")
_CRI_2: Path = ("plugins", "io.containerd.grpc.v1.cri")
_CRI_3: Path = ("plugins", "io.containerd.cri.v1.runtime")
RUNTIMES = ("containerd", "runtimes")
# Where true, only plugins that the runtime starts itself connect.
_CLOSED = ("disable_connections",)
BASE_SPEC = "base_runtime_spec"
# The default handler of containerd 1.7. Version 2 files that mention it lose these defaults.
_RUNC = {"runtime_type": "io.containerd.runc.v2", "sandbox_mode": "podsandbox"}


@dataclass(frozen=True)
class ConfigKey:
    """One key that ``part`` (``nri`` or ``memlock``) sets, below a plugin's section (``nri`` or ``cri``)."""

    part: str
    section: str
    path: Path
    value: Any

    def full(self, version: int) -> Path:
        return section(self.section, version) + self.path


def section(name: str, version: int) -> Path:
    """Where a plugin's section is in a configuration of this version."""
    return NRI if name == "nri" else _CRI_2 if version == 2 else _CRI_3


@dataclass(frozen=True)
class Effective:
    """A runtime's configuration. ``complete`` is false where its built-in defaults are not in ``data``."""

    data: Dict[str, Any]
    complete: bool

    @property
    def version(self) -> int:
        return int(self.data.get("version", 2))

    def get(self, name: str, path: Path, default: Any = None) -> Any:
        return lookup(self.data, section(name, self.version) + path, default)

    @property
    def handlers(self) -> Dict[str, Dict[str, Any]]:
        """Runtime handlers by name."""
        tables = self.get("cri", RUNTIMES)
        tables = tables if isinstance(tables, dict) else {}
        found = {name: table for name, table in tables.items() if isinstance(table, dict)}
        return found if self.complete else {"runc": dict(_RUNC), **found}

    @property
    def nri_socket(self) -> str:
        return str(self.get("nri", ("socket_path",)) or NRI_SOCKET)

    @property
    def nri_enabled(self) -> bool:
        """Whether external plugins can connect."""
        return not self.get("nri", ("disable",), not self.complete) and not self.get("nri", _CLOSED)

    @property
    def cri_disabled(self) -> bool:
        disabled = self.data.get("disabled_plugins") or []
        return any(name in disabled for name in ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"))


def same(value: Any, other: Any) -> bool:
    """Whether two values mean the same to the runtime."""
    first = nanoseconds(value)
    return value == other if first is None else first == nanoseconds(other)


def enough(value: Any, wanted: Any) -> bool:
    """Whether a setting can stay: a timeout also if it is longer."""
    have, least = nanoseconds(value), nanoseconds(wanted)
    return same(value, wanted) or (have is not None and least is not None and have > least)


def nri_keys(options: Dict[str, Any], effective: Effective) -> List[ConfigKey]:
    """Keys that are missing for NRI and CDI.

    :raises HostError: the default validator is demanded from a containerd that has none.
    """
    wanted: List[Tuple[str, Path, Any]] = [
        ("nri", ("disable",), False),
        *([("nri", _CLOSED, False)] if effective.get("nri", _CLOSED) else []),
        ("nri", ("plugin_registration_timeout",), options["registration_timeout"]),
        ("nri", ("plugin_request_timeout",), options["request_timeout"]),
    ]
    has_validator = effective.get("nri", ("default_validator",)) is not None
    if options["validator"] == "true" and effective.complete and not has_validator:
        raise HostError("validator: this containerd has no default validator (2.2 and later do): use 'auto' or 'false'")
    if options["validator"] == "true" or (options["validator"] == "auto" and has_validator):
        wanted.append(("nri", ("default_validator", "enable"), True))
    wanted += _cdi(effective)
    return [
        ConfigKey("nri", name, path, value)
        for name, path, value in wanted
        if not enough(effective.get(name, path), value)
    ]


def _cdi(effective: Effective) -> List[Tuple[str, Path, Any]]:
    """CDI is off by default in 1.7, on from 2.0, and has no switch from configuration version 4 on."""
    switch = effective.get("cri", ("enable_cdi",))
    if switch is None and (effective.complete or effective.version > 2):
        return []
    keys: List[Tuple[str, Path, Any]] = [("cri", ("enable_cdi",), True)]
    if effective.complete and not effective.get("cri", ("cdi_spec_dirs",)):
        keys.append(("cri", ("cdi_spec_dirs",), ["/etc/cdi", "/var/run/cdi"]))
    return keys


def chosen_handlers(names: List[str], effective: Effective) -> Dict[str, str]:
    """Handlers with their present base specification (or ``""``), the named ones or all.

    :raises HostError: a named handler does not exist.
    """
    handlers = effective.handlers
    unknown = [name for name in names if name not in handlers]
    if unknown:
        raise HostError(
            f"memlock_handlers: the runtime has no handler {', '.join(unknown)}; available:"
            f" {', '.join(sorted(handlers))}"
        )
    return {name: str(handlers[name].get(BASE_SPEC) or "") for name in sorted(names or handlers)}


def handler_key(name: str, path: str) -> ConfigKey:
    return ConfigKey("memlock", "cri", (*RUNTIMES, name, BASE_SPEC), path)


def handler_of(key: ConfigKey) -> Optional[str]:
    return key.path[2] if key.path[:2] == RUNTIMES and len(key.path) == 4 else None


def default_of_handler(path: Path) -> bool:
    """Whether a key of ours stands for a default that containerd 1.7 drops where a file mentions the handler."""
    return path[2:4] == RUNTIMES and len(path) > 5 and path[-1] != BASE_SPEC


@dataclass
class RuntimePlan:
    """The files as they should be. ``files`` and ``globs`` are the places to check for later changes.

    ``before`` and ``effective`` are the configuration without and with our settings, under containerd's names.
    ``differs``: the installed configuration differs from ``effective``.
    """

    wanted: List[File] = field(default_factory=list)
    files: List[str] = field(default_factory=list)
    globs: List[str] = field(default_factory=list)
    before: Effective = field(default_factory=lambda: Effective({}, complete=False))
    effective: Effective = field(default_factory=lambda: Effective({}, complete=False))
    differs: bool = False
    handlers: List[str] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
