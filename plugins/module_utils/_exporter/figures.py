# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The exporter's figures read back: from its file, or from ``/metrics`` where it listens.

Only what says whether a NIC is sick: states, rates, PCIe links, error counters, flaps, and faults in the kernel's log.
"""

from __future__ import annotations

import http.client
import math
import re
import time
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import counters
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter import configuration, families
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.configuration import Configuration
from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.text import PCIE
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing

CONFIG = "/etc/zerocopy-rdma/exporter.json"
_SECONDS = 10.0
_LOOK = "rdma_exporter_last_look_timestamp_seconds"
_SAMPLE = re.compile(r'([a-z_][a-zA-Z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S{1,40})')
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')
_PORT = re.compile("[0-9]{1,3}")
_STATES = ("state_id", "physical_state_id", "rate_bytes_per_second")
_INFO = ("link_layer", "pci_address", "rail")
_WATCHED = (*counters.PER_SECOND, *counters.NEVER, "link_downed")

Figures = Dict[str, Any]


class FiguresError(Exception):
    """There are no figures to be had; the text says why."""


def _counters() -> Dict[str, str]:
    """By the name of its metric, the kernel's name of each counter that has a threshold."""
    found = {families.own(families.COUNTERS[file][0]): file for file in _WATCHED if file in families.COUNTERS}
    for file in _WATCHED:
        name = families.hardware(file) if file not in families.COUNTERS else None
        if name:
            found[name] = file
    return found


_COUNTERS = _counters()
_FAULTS = {"rdma_device_kernel_faults_total": "faults", "rdma_device_kernel_fault_active": "active_faults"}
_OF_PCIE = {f"rdma_device_pcie_{suffix}": key for key, (suffix, _text) in PCIE.items()}


def _number(text: str) -> Optional[float]:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _samples(text: str) -> Iterator[Tuple[str, Dict[str, str], float]]:
    for line in text.split("\n"):
        match = _SAMPLE.fullmatch(line) if line.startswith("rdma_") else None
        value = _number(match.group(3)) if match else None
        if match and value is not None:
            yield match.group(1), dict(_LABEL.findall(match.group(2) or "")), value


def read(text: str, now: float) -> Figures:
    """Figures of a page of metrics: ``age`` in seconds, ``devices`` by HCA, and ``ports`` by name (``mlx5_0/1``).

    ``age`` is ``None`` where the page says nothing of when it was made. Units are those of the metrics.
    """
    found: Figures = {"age": None, "devices": {}, "ports": {}}
    for metric, labels, value in _samples(text):
        if metric == _LOOK:
            found["age"] = max(0.0, now - value)
        name, number = labels.get("device", ""), labels.get("port", "")
        if not name or (metric in _FAULTS and not value):
            continue
        if _PORT.fullmatch(number):
            _of_port(found["ports"].setdefault(f"{name}/{number}", {"counters": {}}), metric, labels, value)
        elif metric.startswith("rdma_device_"):
            _of_device(found["devices"].setdefault(name, {}), metric, labels, value)
    return found


def _of_port(port: Dict[str, Any], metric: str, labels: Mapping[str, str], value: float) -> None:
    own = metric[len(families.OWN) :]
    if metric in _COUNTERS:
        port["counters"][_COUNTERS[metric]] = int(value)
    elif own in (*_STATES, "lid", "sm_lid"):
        port[own] = int(value)
    elif own == "flaps_total":
        port["flaps"] = int(value)
    elif own == "info":
        port.update({key: labels.get(key, "") for key in _INFO})


def _of_device(device: Dict[str, Any], metric: str, labels: Mapping[str, str], value: float) -> None:
    if metric == "rdma_device_info":
        keys = ("pci_address", "pf_address", "driver", "board_id", "place")
        device.update({key: labels.get(key, "") for key in keys})
    elif metric == "rdma_device_present":
        device["present"] = bool(value)
    elif metric in _FAULTS:
        device.setdefault(_FAULTS[metric], {})[labels.get("kind", "")] = int(value)
        device.setdefault("pci_address", labels.get("pci_address", ""))
    elif metric in _OF_PCIE:
        device[_OF_PCIE[metric]] = value


def _config(path: str) -> Optional[Configuration]:
    """What the exporter is configured to do, ``None`` where it is not installed. Raises FiguresError."""
    try:
        return configuration.read(writing.read(path).decode())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, configuration.ConfigurationError) as error:
        raise FiguresError(f"{path} cannot be read: {error}") from error


def _asked(address: str) -> str:
    host, port = configuration.address(address)
    # What listens on all addresses listens on this one as well.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        text = answer.read(writing.LARGEST + 1)
    except (OSError, http.client.HTTPException) as error:
        raise FiguresError(f"http://{address}/metrics gives no answer: {error}") from error
    finally:
        connection.close()
    if answer.status != http.client.OK or len(text) > writing.LARGEST:
        raise FiguresError(f"http://{address}/metrics answers {answer.status} with {len(text)} bytes")
    return text.decode("utf-8", "replace")


def figures(root: str = "/") -> Optional[Figures]:
    """The figures of the node, ``None`` without an exporter. Raises FiguresError."""
    base = "" if root == "/" else root.rstrip("/")
    config = _config(base + CONFIG)
    if config is None:
        return None
    if config.listen:
        if base:
            raise FiguresError("the exporter listens, but nothing runs on a recorded node")
        return read(_asked(config.listen), time.time())
    path = f"{base}{config.directory}/{configuration.FILE_NAME}"
    try:
        # node_exporter's user often owns the directory.
        return read(writing.read(path).decode("utf-8", "replace"), time.time())
    except OSError as error:
        raise FiguresError(f"{path} cannot be read: {error}") from error
