# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""NetworkManager has our profiles from our files, or the run says from where."""

from __future__ import annotations

import pytest

from ansible_collections.zerocopy.rdma.tests.network_manager.machine import NICS, Machine

RAIL0 = {"name": "rdma-rail0", "mac": NICS["rail0"], "addresses": ["10.20.0.1/24"]}
FILE = "/etc/NetworkManager/system-connections/rdma-rail0.nmconnection"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (
            "nmcli connection modify --temporary rdma-rail0 ipv4.dns-search example.com",
            "/run/NetworkManager/system-connections/rdma-rail0.nmconnection",
        ),
        (
            f"cd $(dirname {FILE}); cp -p rdma-rail0.nmconnection backup.nmconnection; nmcli connection reload",
            "/etc/NetworkManager/system-connections/backup.nmconnection",
        ),
    ],
)
def test_another_file_with_our_uuid_is_said(machine: Machine, command: str, file: str):
    before = machine.state()
    machine.links(RAIL0)
    machine.run(command)
    meanwhile = machine.state()
    for result in (machine.links(RAIL0), machine.links({**RAIL0, "addresses": ["10.20.0.9/24"]}), machine.absent()):
        assert result["msg"] == (
            f"links: rdma-rail0: somebody has changed or copied this connection: NetworkManager has it from {file} "
            f"instead of {FILE}; remove that file and run 'nmcli connection reload'"
        )
        assert machine.state() == meanwhile
    machine.run(f"rm {file}; nmcli connection reload")
    assert machine.active("rail0") == "rdma-rail0"
    machine.absent()
    assert machine.state() == before
