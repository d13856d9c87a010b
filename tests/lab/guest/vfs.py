# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the VFs of a PF have on this node, as JSON, in VF order: MTU, and what NetworkManager says of their state.

python3 vfs.py 0000:61:00.0
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def state(netdev: str) -> str:
    """Such as ``10 (unmanaged)``, or why NetworkManager tells none."""
    asked = ["nmcli", "-g", "GENERAL.STATE", "device", "show", netdev]
    said = subprocess.run(asked, check=False, capture_output=True, encoding="utf-8")
    return (said.stdout or said.stderr).strip()


def main() -> None:
    found = []
    for link in sorted(Path("/sys/bus/pci/devices", sys.argv[1]).glob("virtfn*")):
        for netdev in sorted((link / "net").glob("*")):
            found.append({"mtu": int((netdev / "mtu").read_text()), "state": state(netdev.name)})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
