# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The program that ``inject_plugin`` installs on nodes, made of the collection on the controller."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Any, Dict, Mapping


@lru_cache(maxsize=None)
def _built() -> bytes:
    from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon import zipapp

    content: bytes = zipapp.build()
    return content


def _needs(options: Mapping[str, Any]) -> bool:
    return options.get("state", "present") != "absent" and not options.get("digest")


def with_digest(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of the module with the program's digest, which is enough to compare, unless they remove it."""
    if not _needs(options):
        return dict(options)
    return {**options, "digest": hashlib.sha256(_built()).hexdigest()}


def with_program(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of the module with the program as well, as base64, unless they remove it."""
    if not _needs(options):
        return dict(options)
    return {**with_digest(options), "program": base64.b64encode(_built()).decode()}
