# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``refusals.yml``: an inventory that is right, and the cases that make it wrong."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

import yaml

FILE = Path(__file__).resolve().with_name("refusals.yml")


@dataclass
class Case:
    """One mistake, as refusals.yml describes it."""

    name: str
    set: dict[str, Any]
    message: str
    host: str | None = None
    group: str | None = None
    variable: str | None = None
    told: list[str] = field(default_factory=list)
    facts: bool = False


def read() -> tuple[dict[str, Any], list[Case]]:
    """The inventory that is right, and every case."""
    document = yaml.safe_load(FILE.read_text("utf-8"))
    return document["inventory"], [Case(**case) for case in document["cases"]]


def groups(inventory: dict[str, Any]) -> dict[str, Any]:
    children: dict[str, Any] = inventory["all"]["children"]
    return children


def mutated(inventory: dict[str, Any], case: Case) -> dict[str, Any]:
    """The inventory with the case's mistake in it."""
    result = copy.deepcopy(inventory)
    for name, group in groups(result).items():
        if name == case.group:
            group["vars"] = dict(group.get("vars", {}), **case.set)
        if case.host in group["hosts"]:
            group["hosts"][case.host].update(case.set)
    return result


def hosts_of(inventory: dict[str, Any], case: Case) -> list[str]:
    """The hosts that the messages have to name."""
    if case.told:
        return case.told
    return [case.host] if case.host else list(groups(inventory)[str(case.group)]["hosts"])


def touched(inventory: dict[str, Any], case: Case) -> set[str]:
    """The hosts that the mistake is made on, and those that the messages have to name."""
    changed = [case.host] if case.host else groups(inventory)[str(case.group)]["hosts"]
    return {*changed, *case.told}


def variable(case: Case) -> str:
    """What the message is about."""
    return case.variable or next(iter(case.set))


def variables(inventory: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each host with its variables, as Ansible would merge them."""
    for name, group in groups(inventory).items():
        for host, own in group["hosts"].items():
            yield host, {**inventory["all"]["vars"], **group.get("vars", {}), **own, "group_names": [name]}


def complaints(inventory: dict[str, Any], cases: list[Case], lines: list[str]) -> list[str]:
    """Why these messages are not one for each of the cases, or nothing."""
    from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold

    found, left = [], list(lines)
    for case in cases:
        hosts = re.escape(fold(hosts_of(inventory, case)))
        expected = re.compile(f"^{hosts}: {re.escape(variable(case))} .*(?:{case.message})")
        matching = [line for line in left if expected.match(line)]
        if len(matching) == 1:
            left.remove(matching[0])
        else:
            wanted = f"{case.name}: expected one message like {expected.pattern}, got"
            found.append("\n  ".join([wanted, *(lines or ["none"])]))
    if left and not found:
        found.append("\n  ".join([f"{cases[0].name}: told besides its message", *left]))
    return found


def complaint(inventory: dict[str, Any], case: Case, lines: list[str]) -> str:
    """The same of one case."""
    return "\n".join(complaints(inventory, [case], lines))
