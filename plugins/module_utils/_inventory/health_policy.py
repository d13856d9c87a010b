# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What a group allows health to do about its NICs (``rdma_health_*``), from variables in their types."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import pci
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem, RefusedError, refused, wrong

PREFIX = "rdma_health_"
BUDGET, EXEMPT, KEEP = f"{PREFIX}budget", f"{PREFIX}exempt", f"{PREFIX}keep"
LOOKS, SECONDS, CONFIRM = f"{PREFIX}good_looks", f"{PREFIX}good_seconds", f"{PREFIX}bad_looks"
# Effects of a taint, from weakest to strongest (DeviceTaintEffect of resource.k8s.io).
INFORMS, EFFECTS = "None", ("None", "NoSchedule", "NoExecute")
_BUDGET = re.compile("(0|[1-9][0-9]{0,5})(%?)")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LEAST = {LOOKS: 1, CONFIRM: 1, SECONDS: 0, KEEP: 0}
_MOST = 10**6


def bars(effect: Optional[str]) -> bool:
    """Whether no new pod gets a device with such a taint."""
    return effect in EFFECTS[1:]


@dataclass(frozen=True)
class Hysteresis:
    """How many good looks in a row, and for how long (seconds), make a NIC well again."""

    looks: int
    seconds: int


@dataclass(frozen=True)
class Exemption:
    """A NIC that is left alone: by HCA or PCI address, until the end of a day (UTC) or for good."""

    nic: str
    reason: str
    until: Optional[datetime.date] = None

    def holds(self, today: datetime.date) -> bool:
        return self.until is None or today <= self.until

    @property
    def text(self) -> str:
        return f"{self.reason}, until {self.until}" if self.until else self.reason


@dataclass(frozen=True)
class Policy:
    """What a host's group allows.

    ``budget`` is a number or percentage (``10%``) of the group's NICs, ``keep`` how many NICs each node must have left,
    ``held`` whether NICs in pods are tainted as well, ``confirm`` the bad looks before an effect that bars.
    """

    effect: str = INFORMS
    budget: str = "10%"
    keep: int = 1
    held: bool = False
    confirm: int = 2


def policy(values: Mapping[str, Any]) -> Policy:
    return Policy(
        str(values[f"{PREFIX}effect"]), str(values[BUDGET]), values[KEEP], values[f"{PREFIX}held"], values[CONFIRM]
    )


def hysteresis(values: Mapping[str, Any]) -> Hysteresis:
    return Hysteresis(values[LOOKS], values[SECONDS])


def allowed(budget: str, nics: int) -> int:
    """How many of a group's NICs a budget is; a percentage is rounded down, but is at least one."""
    return max(1, int(budget[:-1]) * nics // 100) if budget.endswith("%") else int(budget)


def _day(text: Any) -> Optional[datetime.date]:
    if not isinstance(text, str) or not _DAY.fullmatch(text):
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def _named(text: str) -> str:
    """An HCA, or a PCI address in the kernel's form, which is how NICs are known by it."""
    try:
        return pci.address(text)
    except RefusedError:
        return text


def exemptions(values: Mapping[str, Any]) -> List[Exemption]:
    return [
        Exemption(_named(str(entry["nic"])), str(entry["reason"]), _day(entry.get("until")))
        for entry in values.get(EXEMPT) or ()
    ]


def of_nic(entries: Sequence[Exemption], name: str, key: str, today: datetime.date) -> Optional[Exemption]:
    """The exemption of a NIC that holds today, if it has one."""
    return next((entry for entry in entries if entry.nic in (name, key) and entry.holds(today)), None)


def problems(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a host's converted ``rdma_health_*`` variables."""
    budget = values.get(BUDGET)
    match = _BUDGET.fullmatch(str(budget)) if budget is not None else None
    if budget is not None and (match is None or (match[2] and not 1 <= int(match[1]) <= 100)):
        yield wrong(BUDGET, budget, "it must be a number of NICs, or a percentage from 1% to 100%")
    for name, least in _LEAST.items():
        value = values.get(name)
        if value is not None and not least <= value <= _MOST:
            yield wrong(name, value, f"it must be {least} to {_MOST}")
    seen: Dict[str, int] = {}
    for position, entry in enumerate(values.get(EXEMPT) or ()):
        at, nic = f"{EXEMPT}[{position}]", str(entry["nic"])
        if not nic.strip():
            yield wrong(f"{at}.nic", nic, "it must be an HCA like mlx5_0, or a PCI address")
        elif ":" in nic:
            yield from refused(f"{at}.nic", nic, pci.address)
        if not str(entry["reason"]).strip():
            yield wrong(f"{at}.reason", entry["reason"], "it must say why the NIC is left alone")
        if entry.get("until") is not None and _day(entry["until"]) is None:
            yield wrong(f"{at}.until", entry["until"], "it must be a day like '2027-01-31'")
        first = seen.setdefault(_named(nic), position)
        if first != position:
            yield wrong(f"{at}.nic", nic, f"but entry {first} is about it as well")
