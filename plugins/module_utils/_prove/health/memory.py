# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is remembered of each NIC between two looks, in a file on the controller.

Times are whole seconds since the epoch.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.health_policy import Hysteresis
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.nics import Finding, NicLook
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.integer import is_integer

VERSION = 1
KIND = "zerocopy.rdma/health"
# Sick; well, but not for long enough; well; not looked at.
SICK, SETTLING, WELL, UNSEEN = "sick", "settling", "well", "unseen"
STATES = (SICK, SETTLING, WELL, UNSEEN)
# Seconds for which a NIC that has left a host is remembered, and counted as one of its NICs.
_REMEMBERED = 30 * 86400
# What happens to a NIC: beside these states, its rules get an effect, or it has none any more.
TAINTED, UNTAINTED = "tainted", "untainted"
CHANGES = (SICK, WELL, TAINTED, UNTAINTED)
# Events of a NIC that are kept, the newest ones, and characters of a text in them.
_EVENTS = 20
_TEXT = 300
Counters = Dict[str, Dict[str, int]]


class MemoryFileError(ValueError):
    """The file is not what an earlier run has written. The message completes "<path> ..."."""


@dataclass(frozen=True)
class Event:
    """What a look or its rules changed for a NIC: one of ``CHANGES``.

    ``findings`` are what made it sick, ``effect`` is the strongest one of its rules.
    """

    at: int
    what: str
    findings: List[Finding] = field(default_factory=list)
    effect: str = ""


@dataclass(frozen=True)
class NicMemory:
    """One NIC.

    ``bad`` counts the looks that found it sick since it was last well for long enough, ``good`` those in a row that did
    not, ``times`` how often it has become sick.
    ``since`` is when it last became sick, ``well_since`` the first good look after that; ``seen`` is the last look.
    ``effect`` is the strongest one of its rules, empty without any. ``history`` has the newest events last.
    """

    name: str
    functions: List[str] = field(default_factory=list)
    seen: int = 0
    bad: int = 0
    good: int = 0
    times: int = 0
    since: Optional[int] = None
    well_since: Optional[int] = None
    findings: List[Finding] = field(default_factory=list)
    effect: str = ""
    history: List[Event] = field(default_factory=list)

    @property
    def is_sick(self) -> bool:
        """By the last look at it."""
        return self.bad > 0 and self.good == 0

    def state(self, now: int, wanted: Hysteresis) -> str:
        """Whether it is sick, or has been well for as long as is wanted."""
        if not self.seen:
            return UNSEEN
        if self.is_sick:
            return SICK
        settled = self.well_since is not None and now - self.well_since >= wanted.seconds
        return WELL if settled and self.good >= wanted.looks else SETTLING


@dataclass(frozen=True)
class HostMemory:
    """One host: its group, when it was last looked at (0: never), its NICs, and the error counters of its ports."""

    group: str = ""
    looked: int = 0
    nics: Dict[str, NicMemory] = field(default_factory=dict)
    counters: Counters = field(default_factory=dict)


Memory = Dict[str, HostMemory]


def _after(before: NicMemory, event: Event) -> List[Event]:
    findings = [replace(finding, text=finding.text[:_TEXT]) for finding in event.findings]
    return [*before.history, replace(event, findings=findings)][-_EVENTS:]


def _looked(before: NicMemory, look: NicLook, now: int, wanted: Hysteresis) -> NicMemory:
    # Without its RDMA device, a NIC has only its address for a name.
    name = before.name if look.name == look.key else look.name
    known = replace(before, name=name, functions=list(look.functions) or before.functions)
    if not look.seen:
        return known
    if look.findings:
        again = not before.is_sick
        findings = list(look.findings)
        is_new = again or {finding.check for finding in findings} != {finding.check for finding in before.findings}
        return replace(
            known,
            seen=now,
            bad=before.bad + 1,
            good=0,
            times=before.times + again,
            since=now if again else before.since,
            well_since=None,
            findings=findings,
            history=_after(before, Event(now, SICK, findings)) if is_new else before.history,
        )
    first = before.well_since is None
    found = replace(
        known,
        seen=now,
        good=before.good + 1,
        well_since=now if first else before.well_since,
        history=_after(before, Event(now, WELL)) if before.is_sick else before.history,
    )
    # A link that goes down every few looks never has as many bad ones without a good one between them.
    return replace(found, bad=0) if found.state(now, wanted) == WELL else found


def _parts(looks: Sequence[NicLook], nics: Mapping[str, NicMemory]) -> List[str]:
    """Remembered NICs that are VFs of a NIC, and that nothing is said against any more.

    They were sick themselves, or an older exporter did not tell that they are VFs.
    """
    functions = {address for look in looks if look.seen for address in look.functions if address != look.key}
    return sorted(functions & nics.keys() - {look.key for look in looks})


def looked(
    before: HostMemory, group: str, looks: Sequence[NicLook], counters: Counters, now: int, wanted: Hysteresis
) -> HostMemory:
    """What is known of a host after a look at it. A NIC that is not there any more stays as it was for some weeks.

    A pod may have it for as long as that, and its exporter may say nothing.
    """
    nics = {key: nic for key, nic in before.nics.items() if now - nic.seen < _REMEMBERED}
    parts = _parts(looks, nics)
    for key in parts:
        if nics[key].state(now, wanted) == WELL and not nics[key].effect:
            del nics[key]
    for look in [*looks, *(NicLook(key, nics[key].name, (key,)) for key in parts if key in nics)]:
        nics[look.key] = _looked(nics.get(look.key, NicMemory(look.name)), look, now, wanted)
    return HostMemory(group, now, nics, counters)


def tainted(memory: Mapping[str, HostMemory], effects: Mapping[Tuple[str, str], str], now: int) -> Memory:
    """What is known once the rules are made: ``effects`` are the strongest ones, by host and key of the NIC."""
    found: Memory = {}
    for name, host in memory.items():
        nics = {}
        for key, nic in host.nics.items():
            effect = effects.get((name, key), "")
            event = Event(now, TAINTED if effect else UNTAINTED, effect=effect)
            changed = effect != nic.effect
            nics[key] = replace(nic, effect=effect, history=_after(nic, event)) if changed else nic
        found[name] = replace(host, nics=nics)
    return found


def text(memory: Mapping[str, HostMemory]) -> str:
    """The content of the file."""
    hosts = {name: asdict(host) for name, host in sorted(memory.items())}
    return json.dumps({"kind": KIND, "version": VERSION, "hosts": hosts}, indent=1, sort_keys=True) + "\n"


def _map(at: str, value: Any) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise MemoryFileError(f"has {str(value)[:80]!r} in {at}, which must be a map")
    return value


def _number(at: str, value: Any) -> int:
    if not is_integer(value) or value < 0:
        raise MemoryFileError(f"has {str(value)[:80]!r} in {at}, which must be a whole number")
    return int(value)


def _texts(at: str, value: Any) -> List[str]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise MemoryFileError(f"has {str(value)[:80]!r} in {at}, which must be a list of texts")
    return value


def _list(at: str, value: Any) -> List[Any]:
    if not isinstance(value, list):
        raise MemoryFileError(f"has no list in {at}")
    return value


def _findings(at: str, value: Any) -> List[Finding]:
    found = []
    for entry in _list(at, value):
        said = _map(at, entry)
        found.append(Finding(*_texts(at, [said.get("check"), said.get("text")])))
    return found


def _event(at: str, value: Any) -> Event:
    own = _map(at, value)
    what, effect = _texts(at, [own.get("what"), own.get("effect", "")])
    return Event(_number(f"{at}.at", own.get("at")), what, _findings(f"{at}.findings", own.get("findings", [])), effect)


def _nic(at: str, value: Any) -> NicMemory:
    # What is not known is of a newer version that this one can still read.
    own = {item.name: _map(at, value)[item.name] for item in fields(NicMemory) if item.name in value}
    name = own.pop("name", None)
    if not isinstance(name, str):
        raise MemoryFileError(f"has no name in {at}")
    found: Dict[str, Any] = {"functions": _texts(f"{at}.functions", own.pop("functions", []))}
    found["findings"] = _findings(f"{at}.findings", own.pop("findings", []))
    (found["effect"],) = _texts(f"{at}.effect", [own.pop("effect", "")])
    found["history"] = [_event(f"{at}.history", entry) for entry in _list(f"{at}.history", own.pop("history", []))]
    for key, number in own.items():
        none = number is None and key in ("since", "well_since")
        found[key] = None if none else _number(f"{at}.{key}", number)
    return NicMemory(name, **found)


def _counters(at: str, value: Any) -> Counters:
    return {
        port: {name: _number(f"{at}.{port}.{name}", count) for name, count in _map(f"{at}.{port}", own).items()}
        for port, own in _map(at, value).items()
    }


def _host(at: str, value: Any) -> HostMemory:
    own = _map(at, value)
    (group,) = _texts(f"{at}.group", [own.get("group")])
    nics = {key: _nic(f"{at}.nics.{key}", nic) for key, nic in _map(f"{at}.nics", own.get("nics")).items()}
    looked_at = _number(f"{at}.looked", own.get("looked"))
    return HostMemory(group, looked_at, nics, _counters(f"{at}.counters", own.get("counters")))


def read(content: str) -> Memory:
    """What the file has. Raises MemoryFileError, and state_version's errors, for what no run has written."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise MemoryFileError(f"is no JSON: {error}") from None
    if not isinstance(whole, dict) or whole.get("kind") != KIND:
        raise MemoryFileError("was not written by health")
    state_version.known(whole.get("version"), VERSION)
    return {name: _host(f"hosts.{name}", host) for name, host in _map("hosts", whole.get("hosts")).items()}
