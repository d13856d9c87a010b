# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Figures of HCAs and their ports, from what sysfs shows in one network namespace."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import infiniband, pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._discover.tree import Tree, text_of

Reading = Dict[str, Any]

# Names of files become names of metrics; no driver has nearly as many.
_COUNTER = re.compile("[a-z][a-z0-9_]{0,62}")
_MOST_COUNTERS = 256
# "4: ACTIVE", as node_exporter reads it.
_NUMBERED = re.compile(r"([0-9]{1,2}): ?([\w ()-]{0,40})", re.ASCII)
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*Gb/sec", re.ASCII)
_SENSOR = re.compile("(temp|power)([0-9]{1,3})_input")
_MOST_SENSORS = 100
# The kernel counts in 64 bits.
_DIGITS, _WIDEST = re.compile("[0-9]{1,20}"), 1 << 64


def _number(raw: bytes) -> Optional[int]:
    text = text_of(raw[:32])
    value = int(text) if text and _DIGITS.fullmatch(text) else _WIDEST
    return value if value < _WIDEST else None


def _counters(tree: Tree, directory: str) -> Dict[str, int]:
    """The counters of a directory that have a value; what is no number is none that this device keeps."""
    found: Dict[str, int] = {}
    for name, raw in tree.contents(directory).items():
        value = _number(raw) if _COUNTER.fullmatch(name.lower()) else None
        if value is not None and len(found) < _MOST_COUNTERS:
            found[name] = value
    return found


def _numbered(tree: Tree, path: str) -> Optional[int]:
    match = _NUMBERED.fullmatch(tree.text(path) or "")
    return int(match.group(1)) if match else None


def _rate(tree: Tree, path: str) -> Optional[int]:
    match = _RATE.match(tree.text(path) or "")
    return int(float(match.group(1)) * 125e6) if match else None


def _port(tree: Tree, directory: str) -> Reading:
    found: Reading = {
        "state_id": _numbered(tree, directory + "/state"),
        "physical_state_id": _numbered(tree, directory + "/phys_state"),
        "rate_bytes_per_second": _rate(tree, directory + "/rate"),
        "link_layer": tree.text(directory + "/link_layer") or "",
        "counters": _counters(tree, directory + "/counters"),
        "hw": _counters(tree, directory + "/hw_counters"),
    }
    if found["link_layer"] == "InfiniBand":
        for name in ("lid", "sm_lid", "sm_sl"):
            found[name] = tree.number(f"{directory}/{name}", 0)
    return found


def _sensors(tree: Tree, address: str) -> List[List[Any]]:
    """Kind, label and value of each sensor of a PCI function (Documentation/hwmon/sysfs-interface.rst)."""
    found: List[List[Any]] = []
    base = f"{pci.DEVICES}/{address}/hwmon"
    for monitor in tree.names(base):
        for name in tree.names(f"{base}/{monitor}"):
            match = _SENSOR.fullmatch(name)
            value = tree.number(f"{base}/{monitor}/{name}") if match else None
            if match and value is not None and len(found) < _MOST_SENSORS:
                label = tree.text(f"{base}/{monitor}/{match.group(1)}{match.group(2)}_label")
                # Thousandths of a degree, millionths of a watt.
                scale = 1e3 if match.group(1) == "temp" else 1e6
                found.append([match.group(1), label or match.group(1) + match.group(2), value / scale])
    return found


def _pcie(tree: Tree, address: str) -> Optional[Dict[str, Any]]:
    """Speeds in transfers a second and widths in lanes; the maximum is what both ends of the link can do."""
    link = pci.link(tree, address)
    if link is None:
        return None
    speeds = {"current_speed": link.speed_gts, "max_speed": link.max_speed_gts}
    found: Dict[str, Any] = {name: speed * 1e9 for name, speed in speeds.items() if speed}
    widths = {"current_width": link.width, "max_width": link.max_width}
    found.update({name: width for name, width in widths.items() if width})
    return found


def _device_number(tree: Tree, directory: str) -> str:
    """The number of the HCA's uverbs device, ``231:192``."""
    for name in tree.names(directory + "/device/infiniband_verbs"):
        return tree.text(f"{directory}/device/infiniband_verbs/{name}/dev") or ""
    return ""


def made(tree: Tree, name: str) -> int:
    """A number that is another one once the kernel has made an HCA again, as when its driver was loaded again."""
    try:
        return os.stat(os.path.join(tree.root, infiniband.CLASS, name)).st_ino
    except OSError:
        return 0


def identity(tree: Tree, name: str) -> Reading:
    """What of an HCA stays the same."""
    directory = f"{infiniband.CLASS}/{name}"
    along = [pci.components(place) for place in infiniband.places(tree, name)]
    parent = tree.name(directory + "/parent")
    if parent:
        # Of a software device on a netdev, what that netdev is on.
        along.append(pci.components(tree.resolve(f"sys/class/net/{parent}") or ""))
    address = next((each[-1] for each in along if each), "")
    return {
        "made": made(tree, name),
        "pci": address,
        # Of a VF, the function that it is one of.
        "pf": tree.target_name(f"{pci.DEVICES}/{address}/physfn") or "" if address else "",
        "software": parent is not None or not address,
        "driver": "rxe" if parent else (tree.target_name(f"{pci.DEVICES}/{address}/driver") or "" if address else ""),
        "firmware": tree.text(directory + "/fw_ver") or "",
        "board": tree.text(directory + "/board_id") or "",
        "type": tree.text(directory + "/hca_type") or "",
        "uverbs": _device_number(tree, directory) or _of_class(tree, name),
        "parent": parent or "",
    }


def _of_class(tree: Tree, name: str) -> str:
    """The same of a software device, which has no device that it is on."""
    base = "sys/class/infiniband_verbs"
    for entry in tree.names(base):
        if entry.startswith("uverbs") and tree.name(f"{base}/{entry}/ibdev") == name:
            return tree.text(f"{base}/{entry}/dev") or ""
    return ""


def read(tree: Tree, name: str, known: Optional[Reading] = None) -> Reading:
    """The figures of one HCA; ``known`` is its identity from an earlier look."""
    same = known is not None and known["made"] == made(tree, name)
    # Of a software device that was first seen while its netdev was in a pod, the function is still to be found.
    found = dict(known) if known and same and (known["pci"] or not known["parent"]) else identity(tree, name)
    found["name"] = name
    numbers = tree.names(f"{infiniband.CLASS}/{name}/ports")
    found["ports"] = {
        number: _port(tree, f"{infiniband.CLASS}/{name}/ports/{number}")
        for number in numbers
        if number.isascii() and number.isdigit() and len(number) < 4
    }
    address = found["pci"]
    found["pcie"] = _pcie(tree, address) if address and not found["software"] else None
    found["sensors"] = _sensors(tree, address) if address and not found["software"] else []
    return found
