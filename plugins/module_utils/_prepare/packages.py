# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which packages of a list the node lacks, asked of its package database without any package manager's Python."""

from __future__ import annotations

import os
import re
from typing import Dict, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.command import Runner, run
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.report import Change

# As apt takes it: a name, perhaps with an architecture or a version.
_DEBIAN = re.compile(r"([a-z0-9][a-z0-9+.-]+)(?::[a-z0-9-]+)?(?:=(.+))?")
_APT = "/usr/bin/apt-get"
_RPM = "/usr/bin/rpm"


def missing(names: Sequence[str], execute: Runner = run) -> List[Change]:
    """A change for each package that is to be installed.

    Where the node has neither apt nor rpm, the state before is ``unknown``, and its package manager has to be asked.
    """
    if not names:
        return []
    before = "absent"
    # apt decides: rpm is also a tool on Debian, with an empty database.
    if os.path.exists(_APT):
        lacking = _dpkg(names, execute)
    elif os.path.exists(_RPM):
        lacking = _rpm(names, execute)
    else:
        lacking, before = list(names), "unknown"
    return [Change("package", name, before, "present") for name in lacking]


def _dpkg(names: Sequence[str], execute: Runner) -> List[str]:
    matches = {name: _DEBIAN.fullmatch(name) for name in names}
    plain = [match.group(1) for match in matches.values() if match]
    shown = execute(["dpkg-query", "--show", "--showformat=${Package} ${Version} ${db:Status-Status}\\n", *plain])
    installed: Dict[str, str] = {}
    for line in shown.out.splitlines():
        name, version, status = line.split(" ", 2)
        if status == "installed":
            installed[name] = version
    return [
        name
        for name, match in matches.items()
        if not match or match.group(1) not in installed or match.group(2) not in (None, installed[match.group(1)])
    ]


def _rpm(names: Sequence[str], execute: Runner) -> List[str]:
    if execute([_RPM, "--query", *names]).rc == 0:
        return []
    return [name for name in names if not _rpm_has(name, execute)]


def _rpm_has(name: str, execute: Runner) -> bool:
    return any(execute([_RPM, *query, name]).rc == 0 for query in (["--query"], ["--query", "--whatprovides"]))
