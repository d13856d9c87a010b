# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What an earlier run of cabling has found, out of the file that it wrote (``rdma_cabling_json``)."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import Any, Mapping, Optional, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric import leaf_groups
from ansible_collections.zerocopy.rdma.plugins.module_utils._fabric.leaf_groups import LeafGroups
from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.leaf_labels import CABLING
from ansible_collections.zerocopy.rdma.plugins.module_utils._values import state_version
from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _files


@lru_cache(maxsize=4)
def _read(path: str, _content: Tuple[int, int, int]) -> LeafGroups:
    """Once for a file with this content: each host of a fleet asks for it. Raises FileNotFoundError or ValueError."""
    text = _files.content(path)
    if not text:
        raise FileNotFoundError(f"there is no file {path}")
    document = json.loads(text)
    if not isinstance(document, Mapping) or "leaf_groups" not in document:
        raise ValueError("it has no leaf_groups, so it is not from cabling of this version: run cabling again")
    state_version.known(document.get("version"), state_version.FIRST)
    return leaf_groups.read(document["leaf_groups"])


def groups(values: Mapping[str, Any], context: Mapping[str, Any]) -> LeafGroups:
    """The leaf groups. Raises OSError if there is no file, and ValueError if it cannot be used."""
    if not values[CABLING]:
        raise FileNotFoundError(f"{CABLING} is not set")
    path = _files.artifact(values[CABLING], context)
    try:
        found = os.stat(path)
    except OSError as error:
        raise FileNotFoundError(f"there is no file {path}") from error
    return _read(path, (found.st_ino, found.st_mtime_ns, found.st_size))


def of_host(found: LeafGroups, host: str) -> Optional[str]:
    """The leaf group of a host, empty where it is in none, ``None`` where nobody can tell now."""
    return found.values.get(host, "" if host in found.without else None)
