# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Prints where the devices of a node are, as the DRA drivers publish it. Reads `kubectl get resourceslices -o json`.

python3 places.py NODE    a JSON list: driver, name, pci, root, numa of each device, uuid of GPUs; null: not published
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

_PCI = ("dra.net/pciAddress", "resource.kubernetes.io/pciBusID")
_ROOT = ("resource.kubernetes.io/pcieRoot",)
# DRANET 1.4.0 has a name of its own for it.
_NUMA = ("resource.kubernetes.io/numaNode", "dra.net/numaNode")
_UUID = ("gpu.nvidia.com/uuid",)


def place(driver: str, device: dict[str, Any]) -> dict[str, Any]:
    """What is published of one device; names of attributes without a domain are the driver's own."""
    published: dict[str, Any] = {}
    for name, value in device["attributes"].items():
        (published[name if "/" in name else f"{driver}/{name}"],) = value.values()

    def first(names: tuple[str, ...]) -> Any:
        return next((published[name] for name in names if name in published), None)

    found = {"pci": first(_PCI), "root": first(_ROOT), "numa": first(_NUMA), "uuid": first(_UUID)}
    return {"driver": driver, "name": device["name"], **found}


def places(slices: dict[str, Any], node: str) -> list[dict[str, Any]]:
    """By driver and name; of each pool the newest generation."""
    specs = [item["spec"] for item in slices["items"] if item["spec"].get("nodeName") == node]
    newest: dict[str, int] = {}
    for spec in specs:
        newest[spec["driver"]] = max(newest.get(spec["driver"], 0), spec["pool"]["generation"])
    current = [spec for spec in specs if spec["pool"]["generation"] == newest[spec["driver"]]]
    found = [place(spec["driver"], device) for spec in current for device in spec.get("devices", [])]
    return sorted(found, key=lambda one: (one["driver"], one["name"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("node")
    print(json.dumps(places(json.load(sys.stdin), parser.parse_args().node), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
