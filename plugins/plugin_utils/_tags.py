# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The tags that select parts of each playbook.

With a tag of no task, or one that only checks of the command line have, Ansible would do nothing and report success.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Sequence

from ansible import context as command_line

_NODES = ("prepare", "kernel", "links", "runtime")
_CLUSTER = ("provision", "driver", "claims")
TAGS: Dict[str, Sequence[str]] = {
    "audit": ("audit",),
    "benchmark": ("benchmark",),
    "cabling": ("cabling",),
    "drift": ("drift", *_NODES),
    "facts": ("discover",),
    "health": ("health", "clear"),
    "migrate": ("migrate",),
    "ofed": ("ofed",),
    "operators": ("operators",),
    "prepare": ("drift", *_NODES),
    "provision": _CLUSTER,
    "site": ("discover", "drift", *_NODES, *_CLUSTER),
    "support_bundle": ("support_bundle",),
    "teardown": (*_NODES, *_CLUSTER),
    "verify": ("verify", "host", "cluster", "pod"),
    "workloads": ("workloads",),
}
_EVERYTHING = ("all", "tagged")
_SPECIAL = (*_EVERYTHING, "untagged", "always", "never", "preflight")


def problems(context: Mapping[str, Any]) -> List[str]:
    """What is wrong with ``--tags``. A user's own playbook that imports one of these may have other tags."""
    if not os.path.isfile(os.path.join(context["playbook_dir"], "preflight.yml")):
        return []
    # Paths, or names such as zerocopy.rdma.site.
    files = [os.path.basename(argument) for argument in command_line.CLIARGS.get("args") or ()]
    names = [re.sub(r"\.ya?ml\Z", "", file).rpartition(".")[2] for file in files]
    known = [tag for name in names for tag in TAGS.get(name, ())]
    if not known:
        names, known = ["zerocopy.rdma"], [tag for tags in TAGS.values() for tag in tags]
    given = list(context["ansible_run_tags"])
    unknown = [tag for tag in given if tag not in (*known, *_SPECIAL)]
    if not unknown and not {*known, *_EVERYTHING}.intersection(given):
        return [f"--tags {','.join(given)} selects no part of {' or '.join(names)}. {_listed(known)}"]
    return [_problem(tag, names, known) for tag in unknown]


def _listed(known: Sequence[str]) -> str:
    return f"Known tags: {', '.join(dict.fromkeys(known))}."


def _problem(tag: str, names: Sequence[str], known: Sequence[str]) -> str:
    others = [name for name, tags in TAGS.items() if tag in tags]
    which = f"; it is a tag of {', '.join(others)}" if others else ""
    return f"No task of {' and '.join(names)} has the tag {tag}{which}. {_listed(known)}"
