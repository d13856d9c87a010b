# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: the quality of service of a RoCE port, as iproute2's ``dcb`` and configfs tell it.

    python3 qos.py NETDEV HCA

Prints as JSON: entries (how many DSCPs have a priority), dscp (those that have another one than a NIC gives them by
itself), pfc (priorities), tos (null without a directory).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Tuple


def dcb(what: str, netdev: str, setting: str) -> List[Tuple[int, str]]:
    """Pairs such as ``26:3``; the JSON of iproute2 6.15 is no list of pairs."""
    argv = ["dcb", "-N", what, "show", "dev", netdev, setting]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    return [(int(key), value) for key, value in re.findall(r"(\d+):(\w+)", done.stdout)]


def main() -> None:
    netdev, hca = sys.argv[1:]
    tos = Path(f"/sys/kernel/config/rdma_cm/{hca}/ports/1/default_roce_tos")
    pairs = [(dscp, int(priority)) for dscp, priority in dcb("app", netdev, "dscp-prio")]
    found = {
        "entries": len(pairs),
        "dscp": {str(dscp): priority for dscp, priority in pairs if priority != dscp // 8},
        "pfc": [priority for priority, word in dcb("pfc", netdev, "prio-pfc") if word == "on"],
        "tos": int(tos.read_text()) if tos.exists() else None,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
