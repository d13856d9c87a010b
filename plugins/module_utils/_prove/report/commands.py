# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The commands to copy that mend what was found, for the inventory and the hosts of the run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import VerifyDocument, VerifyRun
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.mend import WAYS
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.hostnames import natural_key

PLAYBOOK = "zerocopy.rdma.site"

Map = Mapping[str, str]


@dataclass(frozen=True)
class MendCommand:
    """A line for the shell, and the hosts that it is for; none for the whole fleet."""

    mend: str
    line: str
    hosts: Sequence[str]


def _limit(hosts: Iterable[str], document: VerifyDocument) -> List[str]:
    """``--limit`` for these hosts: none for all hosts of an unlimited run, and groups that are complete by name."""
    wanted = {host for host in hosts if host in document.hosts}
    if wanted == set(document.hosts):
        return ["--limit", document.run.limit] if document.run.limit else []
    names: List[str] = []
    for group in document.run.groups:
        members = {host for host, own in document.hosts.items() if own.group == group}
        if len(members) > 1 and members <= wanted:
            names.append(group)
            wanted -= members
    return ["--limit", ",".join([*names, *sorted(wanted, key=natural_key)])]


def line(playbook: str, run: VerifyRun, options: Sequence[str] = (), variables: Optional[Map] = None) -> str:
    """The line for the shell that runs a playbook with the inventory and the hosts of this run."""
    words = ["ansible-playbook"]
    for source in run.inventory:
        words += ["-i", source]
    words += [playbook, *options]
    for extra in run.extra:
        words += ["-e", extra]
    every = {"rdma_hosts": run.hosts, **(variables or {})} if run.hosts else variables or {}
    for name, value in every.items():
        words += ["-e", f"{name}={value}" if " " not in value else f'{{"{name}": "{value}"}}']
    return " ".join(map(shlex.quote, words))


def command(mend: str, hosts: Sequence[str], document: VerifyDocument) -> MendCommand:
    """The command that mends this on these hosts, with the inventory of the run of the document."""
    way = WAYS[mend]
    options = ["--tags", way.tags, *([] if way.whole else _limit(hosts, document))]
    return MendCommand(mend, line(PLAYBOOK, document.run, options, way.variables), [] if way.whole else list(hosts))


def commands(document: VerifyDocument) -> List[MendCommand]:
    """One command for each way to mend something that failed or is not as it should be, in the order to run them."""
    hosts: Dict[str, List[str]] = {}
    for check in document.checks:
        if check.mend and check.verdict in ("fail", "warn"):
            hosts.setdefault(check.mend, []).extend([check.host] if check.host else [])
    return [command(mend, sorted(set(hosts[mend]), key=natural_key), document) for mend in WAYS if mend in hosts]
