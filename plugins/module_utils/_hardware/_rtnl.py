# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What only netlink and ethtool know of netdevs: exact addresses, maximum MTU, the rate a port supports.

Everything here needs pyroute2 and the running kernel; without them sysfs and procfs have to do (``_netdev``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional

try:
    from pyroute2 import IPRoute
    from pyroute2.ethtool.ethtool import Ethtool
    from pyroute2.ethtool.ioctl import EthtoolError

    HAS_PYROUTE2 = True
except ImportError:
    HAS_PYROUTE2 = False


@dataclass
class Links:
    """Addresses with prefix length and maximum MTU in bytes, by netdev name."""

    addresses: Dict[str, List[str]] = field(default_factory=dict)
    max_mtu: Dict[str, int] = field(default_factory=dict)


def read() -> Optional[Links]:
    """One reading of all netdevs; ``None`` when pyroute2 is missing or rtnetlink cannot be used."""
    if not HAS_PYROUTE2:
        return None
    result = Links()
    try:
        with IPRoute() as ipr:
            names = {}
            for link in ipr.get_links():
                names[link["index"]] = link.get_attr("IFLA_IFNAME")
                maximum = link.get_attr("IFLA_MAX_MTU")
                # Zero is how the kernel spells "the driver sets no limit".
                if maximum:
                    result.max_mtu[names[link["index"]]] = maximum
            for address in ipr.get_addr():
                value = address.get_attr("IFA_LOCAL") or address.get_attr("IFA_ADDRESS")
                text = "{}/{}".format(value, address["prefixlen"])
                result.addresses.setdefault(names.get(address["index"], ""), []).append(text)
    except OSError:
        return None
    return result


def max_rates(netdevs: Iterable[str]) -> Dict[str, float]:
    """Highest rate in Gb/s that each netdev's driver lists as supported (``ETHTOOL_GLINKSETTINGS``).

    A netdev whose driver lists no link mode (virtual devices, IPoIB) is left out.
    """
    if not HAS_PYROUTE2:
        return {}
    found: Dict[str, float] = {}
    ethtool = Ethtool()
    try:
        for name in netdevs:
            try:
                modes = ethtool.get_link_mode(name, with_netlink=False).supported_modes
            except (EthtoolError, OSError, KeyError):
                # KeyError: a link mode newer than this pyroute2's table; guessing from the others would be wrong.
                continue
            rates = [int(digits) for digits in (_leading_digits(mode) for mode in modes or []) if digits]
            if rates:
                found[name] = max(rates) / 1000.0
    finally:
        ethtool.close()
    return found


def _leading_digits(mode: str) -> str:
    return mode[: next((i for i, char in enumerate(mode) if not char.isdigit()), len(mode))]
