# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What the actions of all modules that run on nodes have in common: a Python that is too old fails in one line.

Ansible's own modules do not start there either, and say so with a traceback.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Optional

from ansible.module_utils import basic
from ansible.plugins.action import ActionBase, normal

from ansible_collections.zerocopy.rdma.plugins.plugin_utils import _for_people

# Ours, or that of the installed ansible-core: 2.21 needs 3.9.
OLDEST = max((3, 8), basic._PY_MIN)
_VERSION = re.compile(r"^(\d+) (\d+)\r?$", re.MULTILINE)


class NodeAction(ActionBase):  # type: ignore[misc]  # ansible-core has no types here
    _requires_connection = True
    _supports_check_mode = True

    def _execute_module(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        answer: Dict[str, Any] = super()._execute_module(*args, **kwargs)
        # Only what did not answer as a module does has this. To ask before would cost each call a command.
        too_old = self._too_old() if answer.get("failed") and "module_stderr" in answer else None
        return _for_people.cleaned(answer if too_old is None else {"failed": True, "changed": False, "msg": too_old})

    def _too_old(self) -> Optional[str]:
        """What is wrong with the Python that the module was started with."""
        interpreter = (self._used_interpreter or "").lstrip("#!").strip()
        if not interpreter:
            return None
        # Any Python understands this.
        command = f"{interpreter} -c 'import sys; print(\"%d %d\" % sys.version_info[:2])'"
        found = _VERSION.search(self._low_level_execute_command(command)["stdout"])
        version = (int(found.group(1)), int(found.group(2))) if found else OLDEST
        if version >= OLDEST:
            return None
        has, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        return (
            f"{interpreter} is Python {has}, modules need Python {needed} or newer on nodes. "
            f"Install one, and set ansible_python_interpreter to it if Ansible does not find it."
        )


class PlainAction(NodeAction, normal.ActionModule):  # type: ignore[misc]  # ansible-core has no types here
    """For modules that need nothing else of the controller."""

    _requires_connection = True
    _supports_check_mode = True
