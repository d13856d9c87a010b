# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What links refuse before it looks at the node, and how it says so."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

MLX = {"name": "rail0", "hca": "mlx5_0"}

REFUSED = [
    ({"name": "rail/0", "hca": "mlx5_0"}, "links: name: 'rail/0' is not a name of letters"),
    ({"name": "rail0"}, "links: rail0: exactly one of hca, pci and mac selects the port, but none is given"),
    (dict(MLX, pci="0000:1a:00.0"), "but hca and pci is given"),
    ({"name": "rail0", "hca": "../mlx5_0"}, "hca: '../mlx5_0' is not the name of an RDMA device"),
    (dict(MLX, port=0), "links: rail0: port: 0 is not a port number"),
    ({"name": "rail0", "pci": "1a:00"}, "links: rail0: pci is '1a:00', it must be a PCI address like 0000:1a:00.0"),
    ({"name": "rail0", "pci": "1a:00.0", "port": 1}, "port goes with hca, not with pci"),
    ({"name": "rail0", "mac": "b8:59:9f:3b:2b"}, "mac: 'b8:59:9f:3b:2b' is not a MAC address"),
    (dict(MLX, addresses=["10.0.0.1"]), "addresses is '10.0.0.1', it must be an address with prefix length"),
    (dict(MLX, addresses=["10.0.0.256/24"]), "addresses is '10.0.0.256/24', it must be an address with prefix length"),
    (dict(MLX, addresses=["10.0.0.0/24"]), "which is the network 10.0.0.0/24 itself"),
    (dict(MLX, addresses=["10.0.0.255/24"]), "is the broadcast address of 10.0.0.0/24"),
    (dict(MLX, addresses=["224.0.0.1/24"]), "is '224.0.0.1/24', which is a multicast address"),
    (dict(MLX, addresses=["fe80::1/64"]), "is 'fe80::1/64', which is a link-local address"),
    (dict(MLX, addresses=["10.0.0.1/0"]), "is '10.0.0.1/0', which is a reserved address"),
    (dict(MLX, type="ethernet", mtu=9217), "mtu is 9217, it must be 1280 to 9216 on Ethernet"),
    (
        dict(MLX, type="infiniband", mtu=9000),
        "mtu is 9000, it must be 1280 to 4092 with IPoIB in datagram mode, and 65520 needs connected mode",
    ),
    (
        dict(MLX, type="infiniband", transport_mode="connected", mtu=65521),
        "mtu is 65521, it must be 1280 to 65520 with IPoIB in connected mode",
    ),
    (dict(MLX, type="ethernet", transport_mode="datagram"), "transport_mode is for InfiniBand, but hca mlx5_0 port 1"),
    (dict(MLX, type="ethernet", pkeys=[{"pkey": "0x8001"}]), "pkeys are for InfiniBand"),
    (dict(MLX, type="infiniband", vlans=[{"id": 7}]), "vlans are for Ethernet"),
    (dict(MLX, pkeys=[{"pkey": "0x8000"}]), "links: rail0: pkey is '0x8000', which is not a partition"),
    (dict(MLX, pkeys=[{"pkey": "0x18001"}]), "pkey is '0x18001', it must be a P_Key"),
    (
        dict(MLX, pkeys=[{"pkey": "0x7fff"}]),
        "pkey is '0x7fff', the default partition, to which the port itself belongs",
    ),
    (dict(MLX, pkeys=[{"pkey": "x"}]), "pkey is 'x', it must be a P_Key in hexadecimal"),
    (dict(MLX, vlans=[{"id": 4095}]), "vlans: id is 4095, it must be 1 to 4094"),
    (dict(MLX, type="ethernet", mtu=4000, vlans=[{"id": 7, "mtu": 9000}]), "9000 is more than 4000, that of the link"),
    (dict(MLX, routes=[{"to": "0.0.0.0/0"}]), "to: 0.0.0.0/0 is a default route"),
    (
        dict(MLX, routes=[{"to": "10.1.0.1/16"}]),
        "it must be a network like 10.20.0.0/16, with host bits zero",
    ),
    (dict(MLX, routes=[{"to": "10.1.0.0/16", "via": "fe80::1"}]), "via: fe80::1 is IPv6, but to: 10.1.0.0/16 is IPv4"),
    (dict(MLX, routes=[{"to": "10.1.0.0/16", "table": 254}]), "table: 254 is not a custom routing table"),
    (dict(MLX, rail_table=0), "rail_table: 0 is not a custom routing table"),
    (dict(MLX, pkeys=[{"pkey": "0x0001"}, {"pkey": "0x8001"}]), "connection name 'rail0.8001' is already taken"),
]


@pytest.mark.parametrize(("entry", "message"), REFUSED, ids=[message[:40] for _entry, message in REFUSED])
def test_refused(entry: Dict[str, Any], message: str) -> None:
    with pytest.raises(HostError) as caught:
        request.parse([entry])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([MLX, dict(MLX, hca="mlx5_1")], "connection name 'rail0' is already taken by links: rail0"),
        ([MLX, dict(MLX, name="rail1")], "links: rail1: hca mlx5_0 port 1 is already taken by links: rail0"),
        (
            [dict(MLX, addresses=["10.0.0.1/24"]), {"name": "b", "hca": "mlx5_1", "addresses": ["10.0.0.1/16"]}],
            "links: b: address 10.0.0.1 is already taken by links: rail0",
        ),
    ],
)
def test_each_only_once(entries: List[Dict[str, Any]], message: str) -> None:
    with pytest.raises(HostError) as caught:
        request.parse(entries)
    assert message in str(caught.value)


def test_words_are_normalised() -> None:
    entry = {
        "name": "a",
        "pci": "1A:00.0",
        "addresses": ["10.0.0.1/24", "FD00:0::1/64"],
        "pkeys": [{"pkey": "0x1", "addresses": ["10.1.0.1/31"]}],
    }
    (link,) = request.parse([entry])
    assert link.selector == request.Selector("pci", "0000:1a:00.0")
    assert link.addresses == ("10.0.0.1/24", "fd00::1/64")
    assert link.children == (request.Child("pkey", 0x8001, ("10.1.0.1/31",)),)
    assert link.children[0].suffix == "8001"
