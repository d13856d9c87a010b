# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemon's configuration: command line, then environment, then file, then default."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any, Callable, Dict, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gpu, selection
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import json_object
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import RefusedError

PREFIX = "RDMA_INJECT_"
UNLIMITED = -1
LEVELS = ("debug", "info", "warning", "error")
# containerd/nri, pkg/api/plugin.go: two digits.
_INDEX = re.compile(r"[0-9]{2}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,63}")
# Of the HCAs that containers get.
ANY_LAYER = "any"
LAYERS = (ANY_LAYER, "InfiniBand", "Ethernet")


class ConfigurationError(Exception):
    """A value is wrong; the text says which and what would be right."""


@dataclass(frozen=True)
class Configuration:
    """All values in their types. ``memlock`` is in bytes, -1 for unlimited, 0 to leave the limit as it is."""

    socket: str = "/var/run/nri/nri.sock"
    name: str = "zerocopy-rdma"
    index: str = "10"
    policy: str = "annotated"
    namespaces: Tuple[str, ...] = ()
    missing: str = "refuse"
    exclude: Tuple[str, ...] = ()
    link_layer: str = ANY_LAYER
    umad: bool = False
    memlock: int = UNLIMITED
    environment: bool = True
    metrics: str = ""
    log_level: str = "info"
    drivers: Tuple[str, ...] = tuple(selection.DEFAULT_DRIVERS)
    gpu_vendors: Tuple[str, ...] = gpu.DEFAULT_VENDORS
    gpu_classes: Tuple[str, ...] = gpu.DEFAULT_CLASSES
    allow_software: bool = False


KEYS = tuple(field.name for field in fields(Configuration))


def _fail(key: str, value: Any, right: str) -> ConfigurationError:
    return ConfigurationError(f"{key} is {str(value)[:100]!r}, not {right}")


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _fail(key, value, "text")
    return value


def _path(key: str, value: Any) -> str:
    if _text(key, value) and not value.startswith("/"):
        raise _fail(key, value, "an absolute path")
    return str(value)


def _fitting(pattern: re.Pattern[str], right: str) -> Callable[[str, Any], str]:
    def read(key: str, value: Any) -> str:
        if not pattern.fullmatch(_text(key, value)):
            raise _fail(key, value, right)
        return str(value)

    return read


def _among(choices: Sequence[str]) -> Callable[[str, Any], str]:
    def read(key: str, value: Any) -> str:
        if value not in choices:
            raise _fail(key, value, "one of " + ", ".join(choices))
        return str(value)

    return read


def _list(key: str, value: Any) -> Tuple[str, ...]:
    entries = [entry.strip() for entry in value.split(",") if entry.strip()] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise _fail(key, value, "a list of text")
    return tuple(entries)


def hca(text: str) -> str:
    """An HCA by its name, or by its PCI address in the kernel's form. Raises RefusedError."""
    if ":" in text:
        return pci.address(text)
    if not names.is_rdma_device(text):
        raise RefusedError("it must be the name of an HCA like mlx5_0, or a PCI address like 0000:3b:00.0")
    return text


def _hcas(key: str, value: Any) -> Tuple[str, ...]:
    found = []
    for text in _list(key, value):
        try:
            found.append(hca(text))
        except RefusedError as error:
            raise ConfigurationError(f"{key} is {text[:100]!r}, {error}") from error
    return tuple(found)


def _identifiers(key: str, value: Any) -> Tuple[str, ...]:
    try:
        return tuple(gpu.identifiers(key, _list(key, value)))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _bool(key: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _fail(key, value, "true or false")


def _memlock(key: str, value: Any) -> int:
    if value == "unlimited":
        return UNLIMITED
    if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    raise _fail(key, value, "unlimited or a number of bytes")


_READERS: Dict[str, Callable[[str, Any], Any]] = {
    "socket": _path,
    "name": _fitting(_NAME, "up to 63 letters, digits, and _.-"),
    "index": _fitting(_INDEX, "two digits"),
    "policy": _among(("annotated", "gpu_containers")),
    "namespaces": _list,
    "missing": _among(("refuse", "start")),
    "exclude": _hcas,
    "link_layer": _among(LAYERS),
    "umad": _bool,
    "memlock": _memlock,
    "environment": _bool,
    "metrics": _path,
    "log_level": _among(LEVELS),
    "drivers": _list,
    "gpu_vendors": _identifiers,
    "gpu_classes": _identifiers,
    "allow_software": _bool,
}


def _from(values: Mapping[str, Any], source: str) -> Dict[str, Any]:
    unknown = sorted(set(values) - set(KEYS))
    if unknown:
        raise ConfigurationError(f"{source}: {unknown[0][:100]!r} is not one of {', '.join(KEYS)}")
    try:
        return {key: _READERS[key](key, value) for key, value in values.items()}
    except ConfigurationError as error:
        raise ConfigurationError(f"{source}: {error}") from error


def read(text: str, environment: Mapping[str, str], arguments: Mapping[str, str]) -> Configuration:
    """The configuration of a file's content, variables ``RDMA_INJECT_<KEY>``, and arguments.

    :raises ConfigurationError: a value, or the file, is wrong.
    """
    try:
        content = json_object(text or "{}")
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    variables = {name[len(PREFIX) :].lower(): value for name, value in environment.items() if name.startswith(PREFIX)}
    values = {
        **_from(content, "the file"),
        **_from(variables, "the environment"),
        **_from(arguments, "the command line"),
    }
    return replace(Configuration(), **values)
