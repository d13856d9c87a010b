# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A VLAN of ours that outlives a NetworkManager which was killed goes with its link, and nobody else's does.

The kernel below these machines may have no VLANs (``CONFIG_VLAN_8021Q``), so a macvlan plays the one that
NetworkManager had made before it was killed: what it finds when it is started again is a virtual netdev on a port of
ours that has our address, and that it takes for somebody else's.
"""

from __future__ import annotations

import signal
from typing import List

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"]}
VLAN, ADDRESS = "rail0.100", "10.40.0.1/24"
LIBRARY = "ansible_collections.zerocopy.rdma.plugins.module_utils._prepare"
# What a run notes of a VLAN, in the machine's own ledger.
NOTE = f"""
import sys
sys.path.insert(0, "/srv/collections")
from {LIBRARY}.ledger.ledger import Ledger
from {LIBRARY}.links.converge import CONCERN
from {LIBRARY}.links.state import NOTES
from {LIBRARY}.node.files import Files
ledger = Ledger(Files("/"), CONCERN, NOTES)
ledger.notes["ports"]["{VLAN}"] = dict(mac=None, addresses=["{ADDRESS}"], rules=[])
ledger.save()
"""


def outlive(machine: Machine) -> None:
    """The link of a run had a VLAN, and NetworkManager was killed; on the same port, somebody has another netdev."""
    machine.run(f"PYTHONPYCACHEPREFIX=/srv/pycache python3 -c '{NOTE}'")
    machine.stop_manager(signal.SIGKILL)
    for name, address in ((VLAN, ADDRESS), ("tenant", "198.51.100.7/24")):
        machine.run(f"ip link add {name} link rail0 type macvlan && ip link set {name} up")
        machine.run(f"ip addr add {address} dev {name}")
    machine.start_manager()
    machine.await_device(VLAN, "connected (externally)")


def netdevs(machine: Machine) -> List[str]:
    return [name for name in (VLAN, "tenant") if f" {name}@" in machine.run("ip link show")]


@pytest.mark.parametrize("step", ["run", "absent"])
def test_a_vlan_that_outlives_networkmanager_goes(machine: Machine, step: str):
    before = machine.state()
    machine.links(RAIL0)
    outlive(machine)
    assert netdevs(machine) == [VLAN, "tenant"]
    done = machine.links(RAIL0) if step == "run" else machine.absent()
    assert "msg" not in done, done
    assert {"kind": "netdev", "name": VLAN, "before": "present", "after": "absent"} in done["changes"]
    assert done["warnings"] == []
    assert netdevs(machine) == ["tenant"]
    assert "198.51.100.7/24" in machine.run("ip addr show tenant")
    if step == "run":
        assert machine.active("rail0") == "rdma-rail0"
        assert not machine.call(check=True, links=[RAIL0])["changed"]
        machine.absent()
    assert netdevs(machine) == ["tenant"]
    machine.run("ip link del tenant")
    assert machine.state() == before


def test_a_vlan_that_somebody_has_given_an_address_stays(machine: Machine):
    machine.links(RAIL0)
    outlive(machine)
    machine.run(f"ip addr add 203.0.113.7/24 dev {VLAN}")
    done = machine.links(RAIL0)
    assert done["warnings"] == [
        f"{VLAN} was made for a link that is gone, and stays: somebody has given it 203.0.113.7/24"
    ]
    assert netdevs(machine) == [VLAN, "tenant"]
    assert machine.active("rail0") == "rdma-rail0"
    # That was said once.
    assert machine.links(RAIL0)["warnings"] == []
