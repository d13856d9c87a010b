# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""DRANET's parameters: what it takes is not refused. What it refuses is in ``tests/fleet/refusals_claims.yml``."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.dra.driver import (
    parameters as dranet_parameters,
)

WHOLE: dict[str, Any] = {
    "profile": "rdma",
    "interface": {
        "name": "rdma-0.1_a",
        "addresses": ["10.0.0.9/24", "fd00::9/64"],
        "dhcp": False,
        "mtu": 68,
        "hardwareAddr": "02:00:00:00:00:01",
        "gsoMaxSize": 65536,
        "groMaxSize": 65536,
        "gsoIPv4MaxSize": 65536,
        "groIPv4MaxSize": 65536,
        "disableEbpfPrograms": True,
        "forwarding": True,
    },
    "routes": [
        {"destination": "10.9.0.0/16", "gateway": "10.0.0.1", "source": "10.0.0.9", "table": 100},
        {"destination": "10.8.1.2/32", "scope": 253},
        {"destination": "fd01::/48", "gateway": "fd00::1"},
    ],
    "rules": [{"priority": 32767, "source": "10.0.0.9/32", "destination": "10.9.0.0/16", "table": 100}],
    "neighbors": [{"destination": "10.0.0.1", "hardwareAddr": "02:00:00:00:00:02"}],
    "ethtool": {"features": {"tx-checksumming": True}, "privateFlags": {"rx_cqe_compress": False}},
}


def told(parameters: Any, *version: int) -> list[str]:
    return [f"{one.variable} {one.text}" for one in dranet_parameters.problems("p", parameters, version)]


def test_everything_that_1_4_knows() -> None:
    assert told(WHOLE, 1, 4, 0) == []
    assert told({}, 1, 4, 0) == []
    # As Go decodes it, null is as good as nothing.
    assert told({"interface": {"mtu": None}, "routes": None}, 1, 4, 0) == []


DOCUMENTED: dict[str, Any] = {
    "type": "IPVLAN",
    "addressing": "Static",
    "ipvlan": {"mode": "L2", "flag": "Bridge"},
    "arpIgnore": 8,
    "arpAnnounce": 2,
    "acceptRA": 2,
    "dadTransmits": 0,
    "routerSolicitationDelay": 0,
    "routerSolicitationInterval": 1,
    "disableIPv6": False,
    "addrGenMode": 3,
}


def test_what_came_with_which_version() -> None:
    wanted = {"interface": DOCUMENTED}
    assert told(wanted, 1, 5, 0) == []
    older = told(wanted, 1, 4, 1)
    assert len(older) == len(DOCUMENTED)
    assert "p.interface has the key 'arpIgnore', which DRANET supports since 1.5.0" in older


def warned(parameters: Any, *version: int) -> list[str]:
    return [one.variable for one in dranet_parameters.warnings("p", parameters, version)]


def test_what_nobody_has_read_is_no_mistake() -> None:
    wanted = {"interface": {"mtu": 9000, "arpIgnore": 1, "qdisc": "fq"}, "routes": [{"metric": 5}], "bond": {"mode": 4}}
    for version in ((1, 5, 0), (1, 6, 2), (2, 0, 0)):
        assert warned(wanted, *version) == ["p.interface.qdisc", "p.routes[0].metric", "p.bond"]
        assert not [text for text in told(wanted, *version) if "has the key" in text]
    assert len(told(wanted, 1, 4, 0)) == 4
    assert warned({"interface": DOCUMENTED}, 1, 5, 0) == []
    assert warned(wanted, 1, 4, 0) == []


@pytest.mark.parametrize(
    ("interface", "right"),
    [
        ({"type": "IPVLAN", "hardwareAddr": "02:00:00:00:00:01"}, "has the MAC address of its NIC"),
        ({"type": "IPVLAN", "dhcp": True}, "has no DHCP"),
        ({"type": "IPVLAN", "addressing": "DHCP"}, "has no DHCP"),
        ({"acceptRA": 3}, "it must be one of 0, 1, 2"),
        ({"arpAnnounce": 3}, "it must be one of 0, 1, 2"),
        ({"arpIgnore": 4}, "it must be one of 0, 1, 2, 3, 8"),
        ({"addrGenMode": "eui64"}, "it must be a whole number"),
    ],
)
def test_what_the_documentation_says_is_refused(interface: dict[str, Any], right: str) -> None:
    (only,) = told({"interface": interface}, 1, 5, 0)
    assert right in only


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"interface": {"vrf": {"name": "red"}}}, "p.rules is set together with interface.vrf"),
        ({"interface": {"dhcp": True}}, "p.interface.dhcp is True, but addresses is set as well"),
        ({"interface": {"vrf": {"table": 7}}, "rules": []}, "p.interface.vrf has no name"),
        ({"interface": {"hardwareAddr": "02:00:00:00:00"}}, "it must be a MAC address"),
        ({"interface": {"name": ".."}}, "it must be a name for a network interface"),
        ({"interface": {"gsoMaxSize": 0}}, "p.interface.gsoMaxSize is 0, it must be more than 0"),
        ({"interface": {"mtu": True}}, "p.interface.mtu is True, it must be a whole number"),
        ({"interface": {"mtu": 1 << 31}}, "it must be a whole number"),
        ({"interface": {"addresses": "10.0.0.9/24"}}, "it must be a list of strings"),
        ({"interface": {"addresses": [9]}}, "it must be a list of strings"),
        ({"routes": {"destination": "10.9.0.0/16"}}, "p.routes is .*, it must be a list"),
        ({"routes": [{"destination": "10.9.0.0/16", "scope": 200}]}, "it must be 0 \\(universe\\) or 253"),
        ({"routes": [{"gateway": "10.0.0.1"}]}, "p.routes\\[0\\].destination is None"),
        ({"rules": [{"source": "10.0.0.9"}]}, "it must be a network in CIDR notation"),
        ({"rules": [{"source": "10.0.0.9/32", "destination": "fd00::/64"}]}, "of the same IP version"),
        ({"neighbors": [{"destination": "10.0.0.1"}]}, "p.neighbors\\[0\\].hardwareAddr is None"),
        ({"ethtool": {"features": {"tx": "on"}}}, "it must be a map of names to true or false"),
        ({"interfaces": {}}, "has the key 'interfaces', which DRANET rejects: did you mean interface\\?"),
        ({"interface": []}, "it must be a map"),
    ],
)
def test_what_it_refuses(change: dict[str, Any], message: str) -> None:
    parameters = copy.deepcopy(WHOLE)
    for name, value in change.items():
        if isinstance(value, dict) and isinstance(parameters.get(name), dict):
            parameters[name].update(value)
        else:
            parameters[name] = value
    (only,) = told(parameters, 1, 4, 0)
    assert re.search(message, only)


@pytest.mark.parametrize(
    ("parameters", "needs"),
    [
        ({}, False),
        ({"interface": {"forwarding": True}}, False),
        ({"interface": {"mtu": None}}, False),
        ({"interface": {"mtu": 9000}}, True),
        ({"ethtool": {}}, True),
        ({"routes": []}, False),
        ({"neighbors": [{}]}, True),
    ],
)
def test_what_an_rdma_only_device_takes(parameters: dict[str, Any], needs: bool) -> None:
    assert dranet_parameters.needs_netdev(parameters) is needs
