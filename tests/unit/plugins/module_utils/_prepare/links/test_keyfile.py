# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Profiles as text. That NetworkManager 1.52 and 1.58 read them as meant was seen in the lab's guests."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links import keyfile, request
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.keyfile import Profile
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.links.resolve import Target, profile_mac

ETHERNET = Target("ethernet", "b8:59:9f:3b:2b:88", "ens1np0")
IPOIB = Target("infiniband", profile_mac("00:00:10:03:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:c6:e4:6b"), "ibp138s0")

RAIL = """\
# Written by zerocopy.rdma (nm_links). Changes are overwritten.

[connection]
id=rail0
uuid=aac56ffa-ab5b-5a89-861c-824cf7271ded
type=ethernet
autoconnect=true
autoconnect-priority=999

[ethernet]
mac-address=B8:59:9F:3B:2B:88
mtu=9000

[ipv4]
method=manual
route-metric=1000
never-default=true
ignore-auto-dns=true
ignore-auto-routes=true
address1=10.20.0.11/16
may-fail=false
dad-timeout=2000
route1=10.40.0.0/16,10.20.0.1
route2=10.50.0.0/16,0.0.0.0,7
route2_options=table=7
route3=10.20.0.0/16
route3_options=src=10.20.0.11,table=1000
routing-rule1=priority 32000 from 10.20.0.11 table 1000

[ipv6]
addr-gen-mode=eui64
method=link-local
route-metric=1000
never-default=true
ignore-auto-dns=true
ignore-auto-routes=true

[user]
zerocopy.rdma=nm_links
"""


def profiles(target: Target, **options: Any) -> List[Profile]:
    (link,) = request.parse([{"name": "rail0", "hca": "mlx5_0", **options}])
    return keyfile.profiles(link, target)


def section(text: str, name: str) -> Dict[str, str]:
    lines = text.split(f"\n[{name}]\n", 1)[1].split("\n\n", 1)[0].split("\n")
    return dict(line.split("=", 1) for line in lines if line)


def test_a_rail() -> None:
    routes = [{"to": "10.40.0.0/16", "via": "10.20.0.1"}, {"to": "10.50.0.0/16", "metric": 7, "table": 7}]
    (profile,) = profiles(ETHERNET, addresses=["10.20.0.11/16"], mtu=9000, rail_table=1000, routes=routes)
    assert profile.text == RAIL
    assert profile.path == "/etc/NetworkManager/system-connections/rail0.nmconnection"
    assert keyfile.uuid_in(profile.text) == profile.uuid
    assert keyfile.is_ours(profile.text)
    assert not keyfile.is_ours(profile.text.replace("[user]", "[proxy]"))


def test_no_profile_of_an_installer_goes_first() -> None:
    cloud_init = 120
    for profile in profiles(ETHERNET, vlans=[{"id": 7}]):
        assert int(section(profile.text, "connection")["autoconnect-priority"]) > cloud_init


def test_no_profile_names_its_interface() -> None:
    for profile in profiles(ETHERNET, vlans=[{"id": 7}]):
        assert "interface-name" not in profile.text
        assert "ens1np0" not in profile.text


def test_a_vlan_names_its_parent_by_uuid() -> None:
    parent, child = profiles(ETHERNET, mtu=9000, vlans=[{"id": 7, "addresses": ["10.7.0.1/24"], "mtu": 4200}])
    assert section(child.text, "vlan") == {"id": "7", "parent": parent.uuid}
    assert section(child.text, "ethernet") == {"mtu": "4200"}
    assert (child.id, child.netdev, child.parent) == ("rail0.7", "ens1np0.7", "rail0")
    assert section(parent.text, "ipv4") == {"method": "disabled", "route-metric": "1000"}


def test_ipoib_matches_the_port_guid_whatever_the_queue_pair_is() -> None:
    again = Target("infiniband", profile_mac("00:00:18:a7:fe:80:00:01:00:00:00:00:b8:59:9f:03:00:c6:e4:6b"), "ibp138s0")
    (profile,) = profiles(IPOIB, addresses=["10.30.0.1/16"], transport_mode="connected", mtu=65520)
    assert profile == profiles(again, addresses=["10.30.0.1/16"], transport_mode="connected", mtu=65520)[0]
    assert section(profile.text, "infiniband") == {
        "mac-address": "80:00:00:00:FE:80:00:00:00:00:00:00:B8:59:9F:03:00:C6:E4:6B",
        "mtu": "65520",
        "transport-mode": "connected",
    }


def test_a_partition_needs_its_parents_name() -> None:
    keys = [{"pkey": "0x8001", "addresses": ["10.31.0.1/16"]}]
    _parent, child = profiles(IPOIB, pkeys=keys)
    assert section(child.text, "infiniband") == {"p-key": "32769", "parent": "ibp138s0", "transport-mode": "datagram"}
    assert child.netdev == "ibp138s0.8001"
    assert len(profiles(Target("infiniband", IPOIB.mac, None), pkeys=keys)) == 1


def test_ipv6_addresses() -> None:
    (profile,) = profiles(ETHERNET, addresses=["fd00::1/64"], rail_table=1000)
    ipv6 = section(profile.text, "ipv6")
    assert (ipv6["method"], ipv6["address1"], ipv6["may-fail"]) == ("manual", "fd00::1/64", "false")
    assert ipv6["routing-rule1"] == "priority 32000 from fd00::1 table 1000"
    assert "dad-timeout" not in ipv6
    assert section(profile.text, "ipv4") == {"method": "disabled", "route-metric": "1000"}
    # ARP is of IPv4.
    assert keyfile.sysctls(profile, 1000) == {}


@pytest.mark.parametrize(("table", "metric"), [(None, "1000"), (101, "101")])
def test_the_metric_is_never_left_to_networkmanager(table: Optional[int], metric: str) -> None:
    (profile,) = profiles(ETHERNET, addresses=["10.20.0.11/16"], rail_table=table)
    for family in ("ipv4", "ipv6"):
        assert section(profile.text, family)["route-metric"] == metric


def test_sysctls_of_a_rail() -> None:
    (profile,) = profiles(ETHERNET, addresses=["10.20.0.11/16"], rail_table=1000)
    values = keyfile.sysctls(profile, 1000)
    assert values["net/ipv4/conf/ens1np0/arp_ignore"] == "1"
    assert "net/ipv4/conf/ens1np0/rp_filter = 2\n" in (keyfile.sysctl_text(values) or "")
    assert keyfile.sysctls(profile, None) == {}


@pytest.mark.parametrize(
    ("selector", "match"),
    [
        ({"pci": "0000:1a:00.2"}, 'KERNELS=="0000:1a:00.2"'),
        ({"mac": "B8:59:9F:3B:2B:88"}, 'ATTR{address}=="b8:59:9f:3b:2b:88"'),
        (
            {"mac": "00:00:10:03:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:c6:e4:6b"},
            'ATTR{address}=="*:b8:59:9f:03:00:c6:e4:6b"',
        ),
    ],
)
def test_udev_rules(selector: Dict[str, str], match: str) -> None:
    text = keyfile.udev_text(request.parse_unmanaged([selector]), {}) or ""
    assert text.splitlines()[1] == f'ACTION!="remove", SUBSYSTEM=="net", {match}, ENV{{NM_UNMANAGED}}="1"'


def test_names_of_children_fit_the_kernel() -> None:
    child = request.Child("vlan", 4000)
    assert keyfile.child_name("enp193s0f0np0", child) == "enp193s0f0.4000"
    assert len(keyfile.child_name("enp193s0f0np0", child)) == 15
