# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Compares the facts of a recording with those of the machine that was recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Tuple

# What a recording cannot have, and why. The paths are those of `flat`.
_LIMITS = (
    (r"sources\..*", "netlink is not recorded"),
    (r"hcas\.[^.]+\.ports\.\d+\.(?:max_rate_gbps|netdev\.(?:max_mtu|source|routes.*|rules.*))", "only netlink tells"),
    (r"unreadable.*", "what could not be read is not in the recording"),
    (r"warnings\.unreadable.*", "what could not be read is not in the recording"),
)
# Traffic goes on between the two readings.
_GROWING = re.compile(r"hcas\.[^.]+\.ports\.\d+\.error_counters\..*")


@dataclass
class Difference:
    """``limit`` says why a recording differs here; an empty one is a fault."""

    path: str
    machine: Any
    recording: Any
    limit: str = ""

    def __str__(self) -> str:
        text = f"{self.path}: {self.machine!r} on the machine, {self.recording!r} in the recording"
        return f"{text} ({self.limit})" if self.limit else text


def _key(entry: Mapping[str, Any], position: int) -> str:
    """What an entry of a list of facts is known by."""
    for names in (("code", "subject"), ("hca", "port"), ("name",), ("number",), ("address",)):
        if all(name in entry for name in names):
            return "/".join(str(entry[name]) for name in names)
    return str(position)


def _flat(value: Any, path: str) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        for position, entry in enumerate(value):
            yield from _flat(entry, f"{path}.{_key(entry, position)}")
    else:
        yield path, value


def flat(facts: Mapping[str, Any]) -> Dict[str, Any]:
    """Values by path; entries of lists by their names, so that one more does not move all others."""
    return dict(_flat(facts, ""))


def _limit(path: str, machine: Any, recording: Any) -> str:
    for pattern, why in _LIMITS:
        if re.fullmatch(pattern, path):
            return why
    both = (machine, recording)
    if _GROWING.fullmatch(path) and all(isinstance(count, int) for count in both) and recording >= machine:
        return "it grew while the machine was recorded"
    return ""


def facts(machine: Mapping[str, Any], recording: Mapping[str, Any]) -> List[Difference]:
    """Both with the same replacements."""
    one, other = flat(machine), flat(recording)
    found = []
    for path in dict.fromkeys([*one, *other]):
        left, right = one.get(path), other.get(path)
        if left != right:
            found.append(Difference(path, left, right, _limit(path, left, right)))
    return found
