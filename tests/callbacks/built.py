# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Keeps the zip files that Ansible sends to nodes for the next run, for tests only."""

from __future__ import annotations

import hashlib
from pathlib import Path

import ansible
from ansible import constants
from ansible.plugins.callback import CallbackBase
from ansible.utils.collection_loader._collection_finder import _get_collection_path

DOCUMENTATION = r"""
name: built
type: aggregate
short_description: Build what is sent to nodes once, and not in each run
description:
  - Used by the tests only.
  - Building the zip file of a module, with all that it imports, takes Ansible up to half a second, and each run does it
    anew. Tests run hundreds of playbooks.
"""

KEPT = Path(__file__).parents[2] / "build/compiled"


def _digest() -> str:
    """Stands for all that goes into such files: this collection, and what is installed of Ansible and others."""
    digest = hashlib.sha256()
    plugins = Path(_get_collection_path("zerocopy.rdma"), "plugins")
    own = [*plugins.glob("module_utils/**/*.py"), *plugins.glob("modules/*.py")]
    # pip writes to the directory of all packages, whichever it updates.
    for path in [Path(ansible.__file__).parents[1], *sorted(own)]:
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types here
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "built"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        kept = KEPT / f"modules-{_digest()}"
        kept.mkdir(parents=True, exist_ok=True)
        # Where executor/module_common.py looks for them.
        Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache").symlink_to(kept)
