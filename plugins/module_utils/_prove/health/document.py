# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The document of health: what one run found, as it is written to ``health.json``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.remedies import worded
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.schema import about
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document.verify import Check
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health import taints
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.look import FleetLook
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.memory import (
    CHANGES,
    SETTLING,
    STATES,
    WELL,
    Event,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.health.nics import Finding
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.report.causes import BAD

VERSION = 1
OUTCOMES = (
    taints.TAINTED,
    taints.INFORMED,
    taints.EXEMPT,
    taints.HELD,
    taints.OVER,
    taints.NO_DEVICE,
    taints.NO_TAINTS,
    taints.LEFT,
)


@dataclass
class HealthNic:
    """A NIC that is sick, has been sick and is not well for long enough, or could not be looked at."""

    host: str
    group: str
    nic: str = field(metadata=about("PCI address, or the name of a device that has none."))
    name: str = field(metadata=about("HCA, such as mlx5_0."))
    state: str = field(
        metadata=about("settling: well, but not for long enough; unseen: it could not be looked at.", enum=STATES)
    )
    since: Optional[str] = field(metadata=about("When it last became sick; null if it never was."))
    well_since: Optional[str] = field(metadata=about("The first good look after that; null while it is sick."))
    times: int = field(metadata=about("How often it has become sick.", minimum=0))
    bad: int = field(metadata=about("Looks that found it sick since it was last well for long enough.", minimum=0))
    good: int = field(metadata=about("Looks in a row that did not.", minimum=0))
    findings: List[Finding] = field(metadata=about("What the last bad look found."))
    exempt: str = field(metadata=about("Why the inventory says to leave it alone; empty if it does not."))
    outcome: str = field(
        metadata=about("What became of its rule, as device_taints says it; empty if nothing.", enum=("", *OUTCOMES))
    )
    effects: Optional[List[str]] = field(
        metadata=about("Effects of the rules for its devices; null if the cluster was not asked, or did not answer.")
    )


@dataclass
class HealthEvent:
    """A change of a NIC."""

    at: Optional[str] = field(metadata=about("ISO 8601 time."))
    what: str = field(
        metadata=about("well: the first good look; untainted: it has no rule any more.", enum=CHANGES),
    )
    findings: List[Finding] = field(metadata=about("What made it sick."))
    effect: str = field(metadata=about("Strongest effect of its rules; empty if this is not about them."))


@dataclass
class HealthHistory:
    """What happened to a NIC that was ever sick."""

    host: str
    group: str
    nic: str = field(metadata=about("PCI address, or the name of a device that has none."))
    name: str = field(metadata=about("HCA, such as mlx5_0."))
    times: int = field(metadata=about("How often it has become sick.", minimum=0))
    events: List[HealthEvent] = field(metadata=about("The newest 20, the newest last."))


@dataclass
class HealthGroup:
    """NICs of a group, by their state."""

    nics: int = field(metadata=about(minimum=0))
    states: Dict[str, int] = field(metadata=about(entries={"minimum": 0}))


@dataclass
class HealthDocument:
    """What one run of health.yml found. The version grows whenever a reader of the older one would fail."""

    created: Optional[str] = field(metadata=about("ISO 8601 time."))
    collection: str = field(metadata=about("Version of the collection."))
    hosts: Dict[str, Optional[str]] = field(
        metadata=about("All hosts of the run, and when each was last looked at; null if never.")
    )
    groups: Dict[str, HealthGroup]
    nics: List[HealthNic] = field(metadata=about("Those that are not simply well."))
    histories: List[HealthHistory] = field(
        metadata=about("Of all NICs that were ever sick, also of those that are well.")
    )
    rules: Optional[str] = field(
        metadata=about(
            "Version of resource.k8s.io that the rules have; empty if the API server serves none, null if it was not"
            " asked, or did not answer."
        )
    )
    problems: List[str] = field(metadata=about("Why NICs were not tainted that should have been."))
    notes: List[str]
    checks: List[Check] = field(metadata=about("Findings of the host ring: what failed and what warns."))


def when(seconds: Optional[int]) -> Optional[str]:
    """A time of the memory as ISO 8601."""
    if not seconds:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def document(look: FleetLook, tainted: Mapping[str, Any], created: str, collection: str) -> HealthDocument:
    """The document; ``tainted`` is what the module ``device_taints`` returned.

    It has no ``rules`` if the module was not called, or has failed.
    """
    outcomes = {(each["host"], each["nic"]): str(each["outcome"]) for each in tainted.get("outcomes") or ()}
    of_rules, are_known = effects(tainted), "rules" in tainted
    nics = []
    for state in look.nics:
        known, at = look.memory[state.host].nics[state.key], (state.host, state.key)
        if _never_sick(look, state, of_rules):
            continue
        nics.append(
            HealthNic(
                host=state.host,
                group=look.nodes[state.host].group,
                nic=state.key,
                name=state.name,
                state=state.state,
                since=when(known.since),
                well_since=when(known.well_since),
                times=known.times,
                bad=known.bad,
                good=known.good,
                findings=known.findings,
                exempt=state.exempt,
                outcome=outcomes.get(at, ""),
                effects=of_rules.get(at, []) if are_known else None,
            )
        )
    return HealthDocument(
        created=created,
        collection=collection,
        hosts={host: when(known.looked) for host, known in look.memory.items()},
        groups=_groups(look, of_rules),
        nics=nics,
        histories=list(_histories(look)),
        rules=str(tainted.get("api_version") or "") if are_known else None,
        problems=list(tainted.get("problems") or ()),
        notes=[*look.notes, *(tainted.get("notes") or ())],
        checks=[check for check in look.checks if check.verdict in BAD],
    )


def _event(event: Event) -> HealthEvent:
    return HealthEvent(when(event.at), event.what, list(event.findings), event.effect)


def _histories(look: FleetLook) -> Iterator[HealthHistory]:
    for host, known in look.memory.items():
        for key, nic in sorted(known.nics.items()):
            if nic.history:
                events = [_event(event) for event in nic.history]
                yield HealthHistory(host, look.nodes[host].group, key, nic.name, nic.times, events)


def effects(tainted: Mapping[str, Any]) -> Dict[Tuple[str, str], List[str]]:
    """By host and key of the NIC the effects of its rules, of a result of ``device_taints``."""
    found: Dict[Tuple[str, str], List[str]] = {}
    for rule in tainted.get("rules") or ():
        found.setdefault((rule["host"], rule["nic"]), []).append(str(rule["effect"]))
    return found


def _never_sick(look: FleetLook, state: taints.NicState, of_rules: Mapping[Tuple[str, str], List[str]]) -> bool:
    """Whether nothing was ever wrong with it. A NIC with a rule was sick, also if what was remembered is lost."""
    known = look.memory[state.host].nics[state.key]
    return not known.times and not known.effect and (state.host, state.key) not in of_rules


def _groups(look: FleetLook, of_rules: Mapping[Tuple[str, str], List[str]]) -> Dict[str, HealthGroup]:
    """For people, a NIC that was never sick is well at its first good look; for its rules it has to be so for long."""
    found: Dict[str, HealthGroup] = {}
    for node in look.nodes.values():
        group = found.setdefault(node.group, HealthGroup(0, dict.fromkeys(STATES, 0)))
        group.nics += node.nics
        group.states[WELL] += len(node.well)
    for nic in look.nics:
        state = WELL if nic.state == SETTLING and _never_sick(look, nic, of_rules) else nic.state
        found[look.nodes[nic.host].group].states[state] += 1
    return found


def plain(whole: HealthDocument) -> Dict[str, Any]:
    """The document as the dictionary that is written as JSON."""
    checks = [{**asdict(entry), "remedy": worded(entry.mend, entry.remedy)} for entry in whole.checks]
    return {"version": VERSION, **asdict(whole), "checks": checks}


def text(whole: HealthDocument) -> str:
    """The content of the file."""
    return json.dumps(plain(whole), indent=4, sort_keys=True, separators=(",", ": ")) + "\n"
