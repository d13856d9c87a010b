# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Files that actions write on the controller, as a whole or not at all."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping

from ansible.errors import AnsibleActionFail

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import writing

# The directory that paths of what a run writes are relative to.
ARTIFACTS = "rdma_artifacts"


def path(text: str, base: str = "") -> str:
    """A path as users write it, absolute."""
    return os.path.abspath(os.path.join(os.path.expanduser(base), os.path.expanduser(str(text))))


def artifact(text: str, context: Mapping[str, Any]) -> str:
    """Where a run writes what users call so. ``context`` has the variables of the task."""
    return path(text, str(context.get(ARTIFACTS) or ""))


def content(path: str) -> str:
    """What a file has in it, nothing if there is none."""
    try:
        # What is no text differs from any.
        return writing.text(path, follow=True)
    except OSError:
        # Something else is in its place, and differs as well.
        return ""


def write(path: str, content: str) -> None:
    """Write a file as a whole, or remove one without content."""
    if not content:
        writing.remove(path)
        return
    writing.replace(path, content.encode(), follow=True)


def changed(files: Mapping[str, str], check: bool) -> List[Dict[str, str]]:
    """Write those of these files that differ from their new content, unless in check mode; their differences.

    Raises AnsibleActionFail.
    """
    try:
        before = {path: content(path) for path in files}
        differ = [path for path in files if before[path] != files[path]]
        for each in [] if check else differ:
            write(each, files[each])
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"A file cannot be written: {error}") from error
    return [
        {"before_header": each, "after_header": each, "before": before[each], "after": files[each]} for each in differ
    ]
