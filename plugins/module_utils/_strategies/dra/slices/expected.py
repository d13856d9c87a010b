# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the drivers of a node should publish, and what is left out on purpose: small enough to be sent to a module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Set

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.slices.model import SliceDevice


@dataclass
class Expected:
    """``drivers`` are those that should publish something; ``left_out`` are PCI addresses of NICs with the reason.

    ``may_hide_nics``: a NIC in a pod may be missing in the facts, so there may be more of them.
    ``wait``: the drivers of which it is worth waiting until they publish something.
    """

    drivers: Set[str] = field(default_factory=set)
    devices: List[SliceDevice] = field(default_factory=list)
    left_out: Dict[str, str] = field(default_factory=dict)
    may_hide_nics: bool = False
    wait: Set[str] = field(default_factory=set)


def written(expected: Expected) -> Dict[str, Any]:
    """What is expected as JSON has it."""
    devices = [
        {"driver": device.driver, "name": device.name, "attributes": device.attributes} for device in expected.devices
    ]
    return {
        "drivers": sorted(expected.drivers),
        "devices": devices,
        "left_out": expected.left_out,
        "may_hide_nics": expected.may_hide_nics,
        "wait": sorted(expected.wait),
    }


def read(node: str, entry: Mapping[str, Any]) -> Expected:
    """What was written for a node. Raises ValueError."""
    try:
        return Expected(
            set(entry["drivers"]),
            [
                SliceDevice(entry["driver"], node, entry["name"], node, entry["attributes"])
                for entry in entry["devices"]
            ],
            dict(entry["left_out"]),
            entry["may_hide_nics"],
            set(entry["wait"]),
        )
    except KeyError as error:
        raise ValueError(f"has no {error}") from error
    except (TypeError, ValueError) as error:
        raise ValueError("has the wrong format") from error
