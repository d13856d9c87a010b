# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Links come up, stay as they are, and go without a trace."""

from __future__ import annotations

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"], "mtu": 9000}


def test_a_link_comes_up_and_goes(machine: Machine):
    before = machine.state()
    first = machine.links({**RAIL0, "rail_table": 100})
    assert first["changed"], first
    assert "inet 10.20.0.1/24" in machine.run("ip addr show rail0")
    assert machine.active("rail0") == "rdma-rail0"
    assert not machine.links({**RAIL0, "rail_table": 100})["changed"]
    gone = machine.absent()
    assert gone["changed"], gone
    assert machine.state() == before
    assert not machine.absent()["changed"]
