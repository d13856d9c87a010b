# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the exporter is to do, from a file that prepare writes."""

from __future__ import annotations

import ipaddress
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import gpu
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.plain import json_object

# Seconds. A shorter interval would not leave time for a look that has to be begun again.
SHORTEST, LONGEST = 5, 300
FILE_NAME = "zerocopy_rdma.prom"


ADDRESS = "an IP address and a port like 192.0.2.1:9880, [2001:db8::1]:9880 or 0.0.0.0:9880"


class ConfigurationError(Exception):
    """A value is wrong; the text says which and what would be right."""


class Rail(NamedTuple):
    """A port that the plan names, by its HCA or the PCI address of that; what is not known is empty."""

    name: str
    hca: str
    port: int
    pci: str


class Configuration(NamedTuple):
    """``directory`` is that of a textfile collector, ``listen`` an address for ``/metrics``; one is not set.

    ``interval`` is in seconds. ``rate_gbps`` is what every port of a rail should have, 0 if nobody says so.
    ``host`` and ``group`` are the node's names in the inventory. ``runtime_socket`` is that of the runtime that runs
    the pods, empty where it is the first of the usual ones that is there.
    """

    directory: str = ""
    listen: str = ""
    interval: int = 15
    rails: Tuple[Rail, ...] = ()
    rate_gbps: float = 0.0
    gpu_vendors: Tuple[str, ...] = tuple(gpu.DEFAULT_VENDORS)
    gpu_classes: Tuple[str, ...] = tuple(gpu.DEFAULT_CLASSES)
    host: str = ""
    group: str = ""
    runtime_socket: str = ""


def address(text: str) -> Tuple[str, int]:
    """An address to listen on, ``192.0.2.1:9880`` or ``[2001:db8::1]:9880``. Raises ConfigurationError."""
    host, _colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        ipaddress.ip_address(host)
        number = int(port) if port.isascii() and port.isdigit() else 0
    except ValueError:
        number = 0
    if not 0 < number < 65536:
        raise ConfigurationError(f"listen is {text[:100]!r}, it must be {ADDRESS}")
    return host, number


def _texts(key: str, value: Any) -> Tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ConfigurationError(f"{key} is {str(value)[:100]!r}, it must be a list of text")
    return tuple(value)


def _rails(value: Any) -> Tuple[Rail, ...]:
    found: List[Rail] = []
    for entry in value if isinstance(value, list) else [value]:
        try:
            found.append(Rail(str(entry["name"]), str(entry["hca"]), int(entry["port"]), str(entry["pci"])))
        except (TypeError, KeyError, ValueError) as error:
            text = f"rails has {str(entry)[:100]!r}, it must be a list of maps with name, hca, port and pci"
            raise ConfigurationError(text) from error
    return tuple(found)


def _scalar(key: str, value: Any, default: Any) -> Any:
    kinds = (int, float) if isinstance(default, float) else type(default)
    if not isinstance(value, kinds) or isinstance(value, bool) != isinstance(default, bool):
        raise ConfigurationError(f"{key} is {str(value)[:100]!r}, it must be like {default!r}")
    return value


def read(text: str) -> Configuration:
    """The configuration of a file's content. Raises ConfigurationError."""
    try:
        content = json_object(text)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    found: Dict[str, Any] = {}
    for key, value in content.items():
        if key not in Configuration._fields:
            raise ConfigurationError(f"{key[:100]!r} is not one of {', '.join(Configuration._fields)}")
        default = Configuration._field_defaults[key]
        found[key] = _rails(value) if key == "rails" else None
        if key != "rails":
            found[key] = _texts(key, value) if isinstance(default, tuple) else _scalar(key, value, default)
    wanted = Configuration(**found)
    problem = wrong(wanted)
    if problem:
        raise ConfigurationError(problem)
    return wanted


def wrong(wanted: Configuration) -> Optional[str]:
    """What is wrong with values that have the right types, and what would be right."""
    if bool(wanted.directory) == bool(wanted.listen):
        return "directory and listen: exactly one of them must be set"
    if wanted.directory and not wanted.directory.startswith("/"):
        return f"directory is {wanted.directory!r}, it must be an absolute path"
    if wanted.runtime_socket and not wanted.runtime_socket.startswith("/"):
        return f"runtime_socket is {wanted.runtime_socket!r}, it must be an absolute path"
    if not SHORTEST <= wanted.interval <= LONGEST:
        return f"interval is {wanted.interval}, it must be {SHORTEST} to {LONGEST} seconds"
    if wanted.listen:
        try:
            address(wanted.listen)
        except ConfigurationError as error:
            return str(error)
    return None
