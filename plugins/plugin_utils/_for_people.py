# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What of a result people read: texts that nodes and the cluster have had a part in, shown by this or a later task.

All else, such as facts and objects, goes on to programs as it is.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping

from ansible.utils.display import Display

from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import visible, visible_in

_TEXTS = {
    "blocked",
    "deprecations",
    "diff",
    "error",
    "exception",
    "failure",
    "module_stderr",
    "module_stdout",
    "msg",
    "postponed",
    "problems",
    "reason",
    "reboot_reasons",
    "refused",
    "silent",
    "text",
    "unmet",
    "unplanned",
    "unserved",
    "version",
    "warnings",
}


def cleaned(result: Mapping[str, Any]) -> Dict[str, Any]:
    """A result whose texts are such as people may see, those of the parts of a comparison and of checks too."""
    found = _cleaned(result)
    concerns, checks = found.get("concerns"), found.get("checks")
    if isinstance(concerns, Mapping):
        found["concerns"] = {
            name: _cleaned(each) if isinstance(each, Mapping) else each for name, each in concerns.items()
        }
    if isinstance(checks, list):
        found["checks"] = [_cleaned(each) if isinstance(each, Mapping) else each for each in checks]
    return found


def _cleaned(value: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: _seen(each) if name in _TEXTS else each for name, each in value.items()}


def _seen(value: Any) -> Any:
    """As :func:`visible_in`; warnings, deprecations and errors of modules are frozen dataclasses since 2.19.

    Source: ansible-core, ``module_utils/_internal/_messages.py``. They have texts, tuples and one another in them.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        texts = {field.name: _seen(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
        return dataclasses.replace(value, **texts)
    if isinstance(value, (list, tuple)):
        # Their classes check that a tuple is one.
        return tuple(map(_seen, value)) if isinstance(value, tuple) else list(map(_seen, value))
    return visible_in(value)


def of_host(host: str, result: Mapping[str, Any]) -> Dict[str, Any]:
    """A result whose warnings name their host: Ansible shows them without one."""
    named = {"warnings": [_named(host, each) for each in result["warnings"]]} if result.get("warnings") else {}
    return {**result, **named}


def _named(host: str, warning: Any) -> Any:
    if not dataclasses.is_dataclass(warning) or isinstance(warning, type):
        return f"{host}: {warning}"
    event = warning.event  # type: ignore[attr-defined]
    return dataclasses.replace(warning, event=dataclasses.replace(event, msg=f"{host}: {event.msg}"))


def warn(text: str) -> None:
    """A warning of Ansible's."""
    Display().warning(visible(text))
