# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The variables of a task's host, and of the other hosts of its play, for action plugins."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Optional

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables

_MISSING = object()


class RememberedHostvars(Mapping[str, Any]):
    """``hostvars`` of one task, which do not change in it: the variables of each host are put together once.

    Ansible puts them together again for each look at a host, with a copy of all its facts.
    """

    def __init__(self, hostvars: Mapping[str, Any]) -> None:
        self._hostvars = hostvars
        self._seen: Dict[str, Any] = {}

    def __getitem__(self, host: str) -> Any:
        if host not in self._seen:
            self._seen[host] = self._hostvars[host]
        return self._seen[host]

    def __contains__(self, host: object) -> bool:
        return host in self._hostvars

    def __iter__(self) -> Iterator[str]:
        return iter(self._hostvars)

    def __len__(self) -> int:
        return len(self._hostvars)

    def __getattr__(self, name: str) -> Any:
        """The inventory, from which the groups of hosts are known."""
        return getattr(self._hostvars, name)


class HostVariables(Mapping[str, Any]):
    """Variables of one host, each worked out when it is read. To filters it looks as Jinja's context does.

    Raises AnsibleError for a value that cannot be worked out. ``hostvars`` work out their values themselves.
    """

    def __init__(
        self, raw: Mapping[str, Any], loader: DataLoader, hostvars: Optional[Mapping[str, Any]] = None
    ) -> None:
        self._vars, self._templar = raw, Templar(loader=loader, variables=raw)
        self._hostvars = raw.get("hostvars") if hostvars is None else hostvars

    def __getitem__(self, name: str) -> Any:
        value = self._vars[name]
        return self._hostvars if name == "hostvars" else self._templar.template(value)

    def __contains__(self, name: object) -> bool:
        return name in self._vars

    def __iter__(self) -> Iterator[str]:
        return iter(self._vars)

    def __len__(self) -> int:
        return len(self._vars)


class RunVariables:
    """What a task on one host of a play knows of all hosts: ``raw`` are the variables of the task."""

    def __init__(self, raw: Mapping[str, Any], loader: DataLoader) -> None:
        self._raw, self._loader, self._hostvars = raw, loader, RememberedHostvars(raw["hostvars"])
        self.host = str(raw["inventory_hostname"])
        self.task = HostVariables(raw, loader, self._hostvars)

    @property
    def hosts(self) -> List[str]:
        """The hosts of the batch (``serial``) that have not failed."""
        return [str(name) for name in self._raw["ansible_play_batch"]]

    def _inventory(self, host: str) -> Mapping[str, Any]:
        variables = self._hostvars[host]
        raw: Mapping[str, Any] = getattr(variables, "_vars", variables)
        return raw

    def _of_play(self) -> Dict[str, Any]:
        """What the play says, for all hosts: as templates, which may have another value on each.

        A default of a role is no word of the play's: it would win over what the inventory says of other hosts.
        """
        known, options = self._inventory(self.host), plan_variables.options_of()
        return {
            name: value
            for name, value in self._raw.items()
            if known.get(name, _MISSING) != value and not (name in options and options[name].get("default") == value)
        }

    def of_hosts(self) -> Iterator[HostVariables]:
        """The variables of each host, as a task of the play would have them there."""
        of_play = self._of_play()
        for host in self.hosts:
            raw = self._raw if host == self.host else {**self._inventory(host), **of_play}
            yield HostVariables(raw, self._loader, self._hostvars)
