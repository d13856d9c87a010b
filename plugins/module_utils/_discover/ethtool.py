# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The rates that a netdev's driver supports, which only ethtool knows. Needs pyroute2 and the running kernel."""

from __future__ import annotations

from typing import Dict, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._discover import pyroute2_parts


def max_rates(netdevs: Sequence[str]) -> Dict[str, float]:
    """Highest rate in Gb/s that each netdev's driver lists as supported (``ETHTOOL_GLINKSETTINGS``).

    A netdev whose driver lists no link mode (virtual devices, IPoIB) is left out.
    """
    found: Dict[str, float] = {}
    library = pyroute2_parts.ethtool() if netdevs else None
    if library is None:
        return found
    for name in netdevs:
        try:
            device = library.IoctlEthtool(name)
            supported = device.get_link_mode_masks(device.get_link_settings())[0]
        except (library.EthtoolError, OSError):
            continue
        bits = list(device.get_link_mode_bits(supported))
        if len(bits) < sum(bin(word).count("1") for word in supported):
            # The kernel knows faster modes than this pyroute2's table; guessing from the others would be wrong.
            continue
        rates = [int(digits) for digits in (_leading_digits(bit.name) for bit in bits) if digits]
        if rates:
            found[name] = max(rates) / 1000.0
    return found


def _leading_digits(mode: str) -> str:
    return mode[: next((i for i, char in enumerate(mode) if not char.isdigit()), len(mode))]
