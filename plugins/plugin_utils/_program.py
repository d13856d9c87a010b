# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The daemons that run on nodes, made of the collection on the controller."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Any, Dict, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan import daemons as planned

# By name of the daemon.
DaemonOptions = Mapping[str, Mapping[str, Any]]


@lru_cache(maxsize=None)
def _built(name: str) -> bytes:
    return planned.programs()[name]()


def _needs(options: Mapping[str, Any]) -> bool:
    return options.get("state", "present") != "absent" and not options.get("digest")


def _digest(name: str) -> Dict[str, str]:
    return {"digest": hashlib.sha256(_built(name)).hexdigest()}


def with_digests(daemons: DaemonOptions) -> Dict[str, Dict[str, Any]]:
    """Options of the module with each program's digest, which is enough to compare, unless they remove it.

    What is no daemon of ours is left to the module to refuse.
    """
    known = planned.programs()
    return {
        name: {**options, **_digest(name)} if name in known and _needs(options) else dict(options)
        for name, options in daemons.items()
    }


def with_programs(daemons: DaemonOptions) -> Dict[str, Dict[str, Any]]:
    """The same with the programs as well, as base64."""
    known = planned.programs()
    return {
        name: {**options, **_digest(name), "program": base64.b64encode(_built(name)).decode()}
        if name in known and _needs(options)
        else dict(options)
        for name, options in daemons.items()
    }
