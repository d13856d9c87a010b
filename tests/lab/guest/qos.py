# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: the quality of service of a RoCE port, as iproute2's ``dcb`` and configfs tell it.

    python3 qos.py NETDEV HCA

Prints as JSON: entries (how many DSCPs have a priority), dscp (those that have another one than a NIC gives them by
itself), pfc (priorities), tos (null without a directory).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def dcb(*words: str) -> Any:
    done = subprocess.run(["dcb", "-j", "-N", *words], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout or "{}")


def main() -> None:
    netdev, hca = sys.argv[1:]
    tos = Path(f"/sys/kernel/config/rdma_cm/{hca}/ports/1/default_roce_tos")
    pairs = dcb("app", "show", "dev", netdev, "dscp-prio").get("dscp_prio", [])
    paused = dcb("pfc", "show", "dev", netdev, "prio-pfc")["prio_pfc"]
    found = {
        "entries": len(pairs),
        "dscp": {str(dscp): priority for dscp, priority in pairs if priority != dscp // 8},
        "pfc": [priority for priority, on in enumerate(paused) if on],
        "tos": int(tos.read_text()) if tos.exists() else None,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
