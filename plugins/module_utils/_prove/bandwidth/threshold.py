# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The bandwidth that a port should reach, and whether it did."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Hca, Port

# Of what a PCIe link carries after line coding, what is left for data. Flow control and acknowledgements leave 57.88 of
# 62.96 Gb/s on a link of generation 3 and width 8 (Neugebauer et al., Understanding PCIe performance for end host
# networking, SIGCOMM 2018, section 3). A packet of 256 bytes, as servers use, has 24 bytes of header and framing.
_PCIE_PAYLOAD = 57.88 / 62.96 * 256 / (256 + 24)
# InfiniBand up to QDR sends 10 bits for 8, and its rate is given with them (InfiniBand Architecture Specification
# volume 2, link signalling); a lane of QDR has 10 Gb/s.
_CODED_LANE = 10.0

_BITS = 8
_MEASURED_AT_MOST = 20000
_MEASURED_AT_LEAST = 20


def capacity(hca: Hca, port: Port, sharing: int = 1) -> Optional[float]:
    """Gb/s that a port can carry: the lower of its rate and its share of the card's PCIe link.

    ``None`` for a software device, whose rate says nothing, and where the rate is not known. ``sharing`` is the number
    of ports that use the card's PCIe link at the same time.
    """
    rate = port.rate_gbps
    if hca.software or not rate:
        return None
    if port.link_layer == "InfiniBand" and port.lanes and rate / port.lanes <= _CODED_LANE:
        rate *= 0.8
    link = hca.pcie_link.gbps if hca.pcie_link else None
    return float(rate if link is None else min(rate, link * _PCIE_PAYLOAD / sharing))


def lower(limit: Optional[float], other: Optional[float]) -> Optional[float]:
    """The bandwidth between two ports; ``None`` if that of either port is unknown."""
    return None if limit is None or other is None else min(limit, other)


def iterations(expected: Optional[float], size: int, seconds: float) -> int:
    """Messages of ``size`` bytes that take about ``seconds`` at the expected Gb/s.

    perftest gives no peak above 20000. Of a software device few are enough: nothing is judged.
    """
    wanted = 0.0 if expected is None else expected * 1e9 / _BITS * seconds / size
    return int(min(max(wanted, _MEASURED_AT_LEAST), _MEASURED_AT_MOST))


def bandwidth(
    value: float, expected: Optional[float], fraction: float, demanded: Optional[float]
) -> Tuple[Optional[float], str, str]:
    """Threshold, verdict and reason for a bandwidth in Gb/s.

    ``demanded`` wins over the fraction of what is expected.
    """
    threshold = demanded if demanded is not None else None if expected is None else round(expected * fraction, 2)
    if threshold is None:
        return None, "impossible", f"{value:g} Gb/s, not judged: a software device has no rate"
    of = f" of {expected:g} Gb/s" if expected is not None else ""
    if value >= threshold:
        return threshold, "pass", f"{value:g}{of or ' Gb/s'}"
    return threshold, "fail", f"{value:g}{of or ' Gb/s'}, below the threshold of {threshold:g} Gb/s"


def latency(value: float, software: bool, limit: float) -> Tuple[Optional[float], str, str]:
    """Threshold, verdict and reason for a latency in microseconds; a limit of 0 is none."""
    if software or not limit:
        why = "a software device has no known latency" if software else "no limit is set"
        return None, "impossible", f"{value:g} us, not judged: {why}"
    if value <= limit:
        return limit, "pass", f"{value:g} us"
    return limit, "fail", f"{value:g} us, above the limit of {limit:g} us"


def sharing(addresses: Sequence[Optional[str]]) -> List[int]:
    """For each PCI address, how many of them are functions of the same card; 1 for one that is not known."""
    cards = [address and address.rpartition(".")[0] for address in addresses]
    return [cards.count(card) if card else 1 for card in cards]
