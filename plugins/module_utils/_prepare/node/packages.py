# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which packages of a list the node lacks, asked of its package database without any package manager's Python."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.changes import Change, as_result
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, run

# As apt takes it: a name, perhaps with an architecture or a version.
_DEBIAN = re.compile(r"([a-z0-9][a-z0-9+.-]+)(?::[a-z0-9-]+)?(?:=(.+))?")
_APT = "/usr/bin/apt-get"
_RPM = "/usr/bin/rpm"


def compare(names: Sequence[str], execute: Runner = run) -> Dict[str, Any]:
    """Packages that are to be installed, as a module's result.

    ``unknown`` where the node has neither dpkg nor rpm: then nothing differs, and a warning says that it is not known.
    """
    lacking: List[str] = []
    warnings: List[str] = []
    # apt decides: rpm is also a tool on Debian, with an empty database.
    if os.path.exists(_APT):
        lacking = _dpkg(names, execute) if names else []
    elif os.path.exists(_RPM):
        lacking = _rpm(names, execute) if names else []
    elif names:
        warnings.append(f"whether {', '.join(names)} are installed is unknown: this node has neither dpkg nor rpm")
    changes = [Change("package", name, "absent", "present") for name in lacking]
    return {**as_result(changes, []), "unknown": bool(warnings), "warnings": warnings}


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
