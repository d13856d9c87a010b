# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Alerts about ports and PCIe links of rails: those of all other ports are not known to be meant to be up."""

from __future__ import annotations

from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import warnings as codes
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.warnings import warning
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import fleet
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.figures import PHYSICAL, STATES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.facts import INTENTS, WARNINGS
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring import series, templates
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.alert import Alert, of_check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.series import (
    ACTIVE,
    DEVICE,
    PORT,
    RAIL,
    STATE,
    on,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.monitoring.templates import Number, number

_HCA = templates.label("device")
_PORT = f"{_HCA}/{templates.label('port')}"
_LINK_UP = 5
# A port whose cable carries a signal; what is missing then is a subnet manager.
_CABLED = f'{series.PHYSICAL_STATE} == {_LINK_UP} and {on(PORT)} {series.PORT_INFO}{{link_layer="InfiniBand"}}'
# Stand for the names of ports while a sentence is made.
_NAMED = ["\0first", "\0second"]


def _down() -> Alert:
    """Which other ports are up is asked for when the alert is sent."""
    asked = templates.asked(f"{series.PHYSICAL_STATE}{{%s}}", PORT)
    physical = templates.asked_word(asked, PHYSICAL, "physical state unknown")

    def said(up: List[str]) -> str:
        return warning(codes.PORT_DOWN, _PORT, up=up, state="\0state", physical_state="\0physical").text

    other = templates.asked(f"{STATE}{{%s}} == 4 and {on(PORT)} {RAIL}", series.TARGET)
    both = ", ".join(_NAMED)
    text = templates.of_ports(other, said([]), said(_NAMED[:1]).replace(_NAMED[0], both), said(_NAMED), both)
    what, _verdict, remedy = WARNINGS[codes.PORT_DOWN]
    return of_check(
        what,
        "fail",
        series.of_hosts(series.of_rails(f"{STATE} != 4 unless ({_CABLED})")),
        text.replace("\0state", templates.word(STATES, "in an unknown state")).replace("\0physical", physical),
        remedy,
        "the port of a rail is down",
        code=codes.PORT_DOWN,
    )


def _no_subnet_manager() -> Alert:
    """Of a port that is up, the value is the LID of the subnet manager, 0; of others, the state."""
    what, verdict, remedy = WARNINGS[codes.NO_SUBNET_MANAGER]
    without = f"{series.SM_LID} == 0 and {ACTIVE}"
    waiting = f"{STATE} != 4 and ({_CABLED})"
    waits = templates.word(STATES, "unknown")
    texts = [warning(codes.NO_SUBNET_MANAGER, _PORT, state=state).text for state in (None, waits)]
    return of_check(
        what,
        verdict,
        series.of_hosts(series.of_rails(f"{without} or {waiting}")),
        templates.by([f"eq {templates.VALUE} 0.0"], texts),
        remedy,
        "no subnet manager answers on the fabric of a rail (InfiniBand)",
        code=codes.NO_SUBNET_MANAGER,
    )


def _slow() -> Alert:
    what, verdict, remedy = INTENTS["rate_below_intent"]
    wanted = number(f"{series.EXPECTED_RATE}{{%s}} / 125e6", PORT)
    return of_check(
        what,
        verdict,
        series.of_hosts(series.of_rails(f"{series.RATE} / 125e6 < {series.EXPECTED_RATE} / 125e6 and {ACTIVE}")),
        fleet.rate_below_intent(_PORT, Number(), templates.label("group"), wanted),
        remedy,
        "the port of a rail is slower than `rdma_discover_expect_rate_gbps`",
        code="rate_below_intent",
    )


def _pcie(what: str, matchers: str = "") -> str:
    return f"rdma_device_pcie_{what}{matchers}"


def carries(matchers: str = "") -> str:
    """Gb/s that a PCIe link carries (``_discover.pci.lane_gbps``)."""
    speed, width = (_pcie(f"current_link_{what}", matchers) for what in ("transfers_per_second", "width"))
    lane = f"({speed} <= 5e9) * 0.8 or ({speed} > 5e9) * 128 / 130"
    return f"round({width} * ({lane}) / 1e9, 0.1)"


def _links() -> List[Alert]:
    """A link that has trained below its best only matters for certain where it carries less than its port."""
    current, best = "current_link", "max_link"
    worse = [f"{_pcie(f'{current}_{what}')} < {_pcie(f'{best}_{what}')}" for what in ("transfers_per_second", "width")]
    degraded = " or ".join(worse)
    below = f"{series.RATE} / 125e6 > {on(DEVICE)} group_left () {carries()} and {ACTIVE}"
    up = f"{ACTIVE} and {on(PORT)} {RAIL}"
    speeds = [number(f"{_pcie(f'{end}_transfers_per_second', '{%s}')} / 1e9", DEVICE) for end in (current, best)]
    lanes = [number(_pcie(f"{end}_width", "{%s}"), DEVICE) for end in (current, best)]
    carried = number(carries("{%s}"), DEVICE)
    trained = warning(
        codes.PCIE_DEGRADED,
        _HCA,
        speed_gts=speeds[0],
        width=lanes[0],
        max_speed_gts=speeds[1],
        max_width=lanes[1],
    ).text
    slower = warning(codes.PCIE_BELOW_PORT_RATE, _PORT, rate_gbps=Number(), pcie_gbps=carried).text
    what, warns, reseat = WARNINGS[codes.PCIE_DEGRADED]
    other_slot = WARNINGS[codes.PCIE_BELOW_PORT_RATE][2]
    lost = series.of_rails(below)
    fires = "the PCIe link of the HCA of a rail "
    return [
        of_check(
            what,
            "fail",
            series.of_hosts(f"({lost})\nand {on(DEVICE)} ({degraded})"),
            f"{slower}: {trained}",
            reseat,
            f"{fires}has trained below its best, and carries less than the port",
            code=codes.PCIE_BELOW_PORT_RATE,
        ),
        of_check(
            what,
            warns,
            series.of_hosts(f"({lost})\nunless {on(DEVICE)} ({degraded})"),
            slower,
            other_slot,
            f"{fires}carries less than the port",
            code=codes.PCIE_BELOW_PORT_RATE,
        ),
        of_check(
            what,
            warns,
            series.of_hosts(f"({degraded})\nand {on(DEVICE)} ({up})\nunless {on(DEVICE)} ({lost})"),
            trained,
            reseat,
            f"{fires}has trained below its best",
            code=codes.PCIE_DEGRADED,
        ),
    ]


def alerts() -> List[Alert]:
    """All of them."""
    return [_down(), _no_subnet_manager(), _slow(), *_links()]
