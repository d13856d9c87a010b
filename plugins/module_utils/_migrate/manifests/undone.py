# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What going back may change: only what a rewrite changes.

The way back is an annotation, which whoever may edit the object can write, and a manifest may have been saved from a
cluster. What an admission policy forbids a tenant must not come back with the rights of whoever applies the manifest.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, List, Mapping

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.unstructured import entries, table, text
from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.yaml_values import same
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate import findings
from ansible_collections.zerocopy.rdma.plugins.module_utils._migrate.manifests import required

_PORTS = ("containerPort", "hostPort", "port", "targetPort", "targetPortNumber", "number")
# Which a rewrite makes where there are none.
_MAPS = ("metadata", "annotations", "resources", "securityContext", "capabilities")
_DIGITS = re.compile("[0-9]+")


def foreign(now: Any, was: Any, path: str = "", key: str = "") -> Iterator[str]:
    """The paths at which an object ``was`` otherwise than it is ``now`` although no rewrite changes that."""
    if same(now, was) or (_is_empty(now) and _is_empty(was)):
        return
    if key in _MAPS and _maps(now, None) and not _maps(None, was):
        # A rewrite makes a map of what no API server takes.
        return
    allowed = _ALLOWED.get(key)
    if allowed is not None:
        if not allowed(now, was):
            yield path
    elif key == "annotations" and _maps(now, was):
        for name, value in table(was).items():
            if not same(table(now).get(name), value) and not _taken(str(name), table(now).get(name), value):
                yield f"{path}/{name}"
    elif _maps(now, was):
        for name in dict.fromkeys([*table(now), *table(was)]):
            yield from foreign(table(now).get(name), table(was).get(name), f"{path}/{name}", str(name))
    elif isinstance(now, list) and isinstance(was, list) and len(now) == len(was):
        for place, both in enumerate(zip(now, was)):
            yield from foreign(*both, f"{path}/{place}")
    else:
        yield path


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, list, dict)) and not value)


def _maps(now: Any, was: Any) -> bool:
    """Whether both are maps, or one is and the other is not there."""
    return all(_is_empty(value) or isinstance(value, dict) for value in (now, was))


def _taken(annotation: str, now: Any, was: Any) -> bool:
    """Whether a rewrite takes this annotation away, or our plugin from it."""
    if required.is_list(annotation):
        left = required.others(now)
        return left is not None and left == required.others(was)
    return annotation == findings.NETWORKS or findings.is_ours(annotation)


def _subset(now: Any, was: Any) -> bool:
    """Whether a list had nothing that it has not now: a rewrite adds to it."""
    having = now if isinstance(now, list) else []
    # What is no list no API server takes.
    return not isinstance(was, list) or all(any(same(old, new) for new in having) for old in was)


def _variables(now: Any, was: Any) -> bool:
    """Beside that, addresses of the node become those of the pod."""
    having: Dict[str, Mapping[str, Any]] = {text(entry.get("name")): entry for entry in entries(now)}
    others = [entry for entry in was if not isinstance(entry, dict)] if isinstance(was, list) else []
    return _subset(now, others) and all(
        not any(foreign(having.get(text(entry.get("name"))), entry)) for entry in entries(was)
    )


def _resources(now: Any, was: Any) -> bool:
    """Those of device plugins come back, which have a domain."""
    if not _maps(now, was) or not _subset(table(now).get("claims"), table(was).get("claims")):
        return False
    for part in {*table(now), *table(was)} - {"claims"}:
        first, second = table(now).get(part), table(was).get(part)
        if part not in ("limits", "requests"):
            if not same(first, second):
                return False
            continue
        if not _maps(first, second):
            continue
        for name in {*table(first), *table(second)}:
            if "/" not in str(name) and not same(table(first).get(name), table(second).get(name)):
                return False
    return True


def _words(now: Any, was: Any) -> bool:
    """The same command but for numbers, which may be ports."""
    return isinstance(now, list) and isinstance(was, list) and _without(now) == _without(was)


def _without(words: List[Any]) -> List[str]:
    return [_DIGITS.sub("0", word) if isinstance(word, str) else repr(word) for word in words]


def _number(_now: Any, was: Any) -> bool:
    return _is_empty(was) or (isinstance(was, int) and not isinstance(was, bool))


def _target_ports(now: Any, was: Any) -> bool:
    def others(ports: Any) -> List[Dict[str, Any]]:
        return [{name: value for name, value in port.items() if name != "number"} for port in entries(ports)]

    return isinstance(was, list) and len(entries(was)) == len(was) and _subset(others(now), others(was))


_ALLOWED: Mapping[str, Callable[[Any, Any], bool]] = {
    "hostNetwork": lambda _now, was: was is True,
    "dnsPolicy": lambda now, was: _is_empty(now) and was == "ClusterFirstWithHostNet",
    "fieldPath": lambda _now, was: was in findings.HOST_ADDRESSES,
    "resourceClaims": _subset,
    "add": _subset,
    "env": _variables,
    "resources": _resources,
    "command": _words,
    "args": _words,
    "targetPorts": _target_ports,
    **dict.fromkeys(_PORTS, _number),
}
