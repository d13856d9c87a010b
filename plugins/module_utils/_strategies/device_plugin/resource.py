# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The name of the extended resource that pods of a group request."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory.host import InventoryHost
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import names
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, wrong

# validResourceName of the plugins, which is stricter than what Kubernetes takes.
_NAME = re.compile("[A-Za-z0-9](?:[A-Za-z0-9_]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class ResourceVariables:
    """Names of the variables with the prefix and with the name that follows it.

    Without a name, it is ``start`` and the group. It has at most ``longest`` characters.
    """

    prefix_variable: str
    name_variable: str
    start: str
    longest: int

    def prefix(self, values: Mapping[str, Any]) -> str:
        """What is before the slash. Raises PlanError."""
        text = str(values[self.prefix_variable])
        # With "requests." before it, as in quotas: is_extended_resource asks for the same.
        if not names.is_subdomain(f"requests.{text}"):
            right = "it must be a DNS name in lower case, like rdma or rdma.example.org"
            raise PlanError(wrong(self.prefix_variable, text, right))
        if not names.is_extended_resource(f"{text}/{self.start}0"):
            right = "which is reserved for Kubernetes: choose another one, like rdma"
            raise PlanError(wrong(self.prefix_variable, text, right))
        return text

    def name(self, group: str, values: Mapping[str, Any]) -> str:
        """What is after the slash. Raises PlanError."""
        given = values[self.name_variable]
        name = str(given or self.start + re.sub("[^A-Za-z0-9_]", "_", group))
        if len(name) > self.longest or not _NAME.fullmatch(name):
            right = f"it must be at most {self.longest} letters, digits and _, with a letter or digit at both ends"
            unset = Problem(self.name_variable, f"is not set and would be {name!r}, {right}")
            raise PlanError(wrong(self.name_variable, name, right) if given else unset)
        return name

    def full(self, group: str, values: Mapping[str, Any]) -> str:
        """The name as pods request it. Raises PlanError."""
        return f"{self.prefix(values)}/{self.name(group, values)}"

    def of_hosts(
        self, hosts: Sequence[InventoryHost], known: plan_variables.Options, others: Sequence[str] = ()
    ) -> List[Tuple[str, Dict[str, Any]]]:
        """The full name for each host with its values of the variables and of ``others``; wrong ones are left out.

        Groups of other strategies are told nothing of variables that they do not need.
        """
        wanted = (self.prefix_variable, self.name_variable, *others)
        defaults = {name: known[name].get("default") for name in wanted}
        found: List[Tuple[str, Dict[str, Any]]] = []
        for host in hosts:
            given = {name: host.variables[name] for name in wanted if name in host.variables}
            typed, problems = plan_variables.converted(given, known)
            values = {**defaults, **typed}
            with contextlib.suppress(PlanError):
                if not problems:
                    found.append((self.full(host.group, values), values))
        return found
