# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Problems with variables, in words that tell how to fix them, and the exception that rules for values raise."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple, TypeVar

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import fold, natural_key


class RefusedError(ValueError):
    """A value breaks a rule. The message follows the value and says what would be right."""


_SHOWN = 80

Read = TypeVar("Read")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with one variable of one or more hosts.

    ``text`` follows the variable's name: its value and what would be right. Problems with the same ``same`` are one
    to a person although their texts differ in a figure; the text with the highest ``weight`` then speaks for all.
    """

    variable: str
    text: str
    same: str = field(default="", compare=False)
    weight: int = field(default=0, compare=False)


class PlanError(Exception):
    """A variable's value makes the plan impossible."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.variable} {problem.text}")
        self.problem = problem


def shown(value: Any) -> str:
    """A value as a person would find it in the inventory, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def wrong(variable: str, value: Any, right: str) -> Problem:
    """A problem whose text is the value and what would be right."""
    return Problem(variable, f"is {shown(value)}, {right}")


def checked(variable: str, value: Any, rule: Callable[[Any], Read]) -> Read:
    """The value of a variable as a rule reads it. Raises PlanError if the rule raises RefusedError."""
    try:
        return rule(value)
    except RefusedError as error:
        raise PlanError(wrong(variable, value, str(error))) from None


def refused(
    variable: str, value: Any, rule: Callable[[Any], Any], because: str = "", more: str = ""
) -> Iterator[Problem]:
    """The problem that a rule has with a variable's value, if it has one.

    ``because`` and ``more`` stand before and after what the rule says.
    """
    try:
        rule(value)
    except RefusedError as error:
        yield wrong(variable, value, f"{because}{error}{more}")


def inert(text: str) -> str:
    """Text in which there is no template: Ansible before 2.19 would run what a node's facts say."""
    return re.sub(r"\{(?=[{%#])", "{ ", text)


def messages(found: Iterable[Tuple[str, Problem]]) -> List[str]:
    """One line for each problem with all its hosts, in the order of the hosts."""
    return [line for line, _hosts in lines_of_hosts(found)]


def by_host(found: Iterable[Tuple[str, Problem]]) -> Dict[str, List[str]]:
    """The same lines for each host that is in them."""
    told: Dict[str, List[str]] = {}
    for line, hosts in lines_of_hosts(found):
        for host in hosts:
            told.setdefault(host, []).append(line)
    return told


def lines_of_hosts(found: Iterable[Tuple[str, Problem]]) -> List[Tuple[str, List[str]]]:
    """The lines of ``messages``, each with its hosts."""
    merged: Dict[Tuple[str, str], Tuple[Problem, Dict[str, None]]] = {}
    for host, problem in found:
        key = (problem.variable, problem.same or problem.text)
        known, hosts = merged.setdefault(key, (problem, {}))
        hosts[host] = None
        if problem.weight > known.weight:
            merged[key] = (problem, hosts)
    lines = []
    for problem, hosts in merged.values():
        first = min(hosts, key=natural_key)
        line = inert(f"{fold(hosts)}: {problem.variable} {problem.text}")
        lines.append((natural_key(first), problem.variable, line, list(hosts)))
    return [(line, several) for _host, _variable, line, several in sorted(lines)]
