# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""An HCA as a look reads it, for tests of what is made of it."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._exporter.look import Known


def hca(name: str = "mlx5_0", place: int = 0, **own: Any) -> Dict[str, Any]:
    """A reading of an HCA with one port."""
    port: Dict[str, Any] = {
        "state_id": 4,
        "physical_state_id": 5,
        "rate_bytes_per_second": 50000000000,
        "link_layer": "Ethernet",
        "counters": {"port_rcv_data": 10, "link_downed": 0},
        "hw": {"np_cnp_sent": 3, "lifespan": 10, "vendor_counter": 1},
        "netdev": "ens1",
        "downs": None,
    }
    port.update(own.pop("port", {}))
    found: Dict[str, Any] = {
        "made": 1,
        "name": name,
        "pci": "0000:3b:00.0",
        "pf": "",
        "software": False,
        "driver": "mlx5_core",
        "firmware": "28.39.1002",
        "board": "MT_0000000838",
        "type": "MT4129",
        "uverbs": "231:192",
        "parent": "",
        "place": place,
        "pcie": None,
        "sensors": [],
        "ports": {"1": port},
    }
    found.update(own)
    return found


def known(*hcas: Dict[str, Any], root: Optional[str] = None) -> Known:
    """What a look knows that has read these."""
    found = Known(root or "/")
    for reading in hcas:
        found.heard(["hca", reading])
    return found
