# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Whether the live object is what this field manager would apply, told without asking the API server.

The API server remembers for each field manager which fields it applied (``metadata.managedFields``, FieldsV1: see
kubernetes-sigs/structured-merge-diff, fieldpath/serialize.go). A field that somebody else changed afterwards is no
longer among them, and defaults that the API server filled in never were. So an object is unchanged if those fields are
the fields wanted, with the values wanted. Where that cannot be told, the answer is no: applying the same again costs a
request, but changes nothing.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._provision.api.objects import Object, metadata

_Fields = Mapping[str, Any]

# What the API server fills into values that are one to it, by the field that has them (kubernetes/kubernetes,
# pkg/apis/*/v1/defaults.go). It makes no difference whether such a value is given or left out.
_DEFAULTS: Dict[str, Dict[str, Any]] = {
    "fieldRef": {"apiVersion": "v1"},
    "ports": {"protocol": "TCP"},
    "resourceFieldRef": {"divisor": "0"},
    "rules": {"scope": "*"},
    "serviceAccountToken": {"expirationSeconds": 3600},
    "subjects": {"apiGroup": "rbac.authorization.k8s.io"},
}


def applied_by(manager: str, live: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """The entry of ``managedFields`` for what ``manager`` applied to the object itself."""
    for entry in metadata(live).get("managedFields") or []:
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            found: Dict[str, Any] = entry
            return found
    return None


def unchanged(live: Object, wanted: Object, manager: str, fixed: bool) -> bool:
    """Whether applying ``wanted`` to ``live`` would surely change nothing.

    With ``fixed`` the spec is not looked at: it cannot have changed, since the object's name is made from it.
    """
    entry = applied_by(manager, live)
    if entry is None or entry.get("apiVersion") != wanted["apiVersion"]:
        return False
    content = {name: value for name, value in wanted.items() if name not in ("apiVersion", "kind")}
    content["metadata"] = {
        name: value for name, value in wanted["metadata"].items() if name not in ("name", "namespace")
    }
    owned = dict(entry.get("fieldsV1") or {})
    if fixed:
        if owned.pop("f:spec", None) is None:
            return False
        content.pop("spec", None)
    return _same(content, live, owned)


def _same(wanted: Any, live: Any, owned: _Fields, field: str = "") -> bool:
    """Whether ``live`` has what is wanted, and ``owned`` are exactly the fields wanted; ``field`` is what has them."""
    if not owned or list(owned) == ["."]:
        return _equal(wanted, live, field)
    if isinstance(wanted, dict) and isinstance(live, dict):
        children = {name[2:]: below for name, below in owned.items() if name.startswith("f:")}
        return set(children) == set(wanted) and all(
            name in live and _same(value, live[name], children[name], name) for name, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(live, list):
        kinds = {name[:2] for name in owned if name != "."}
        if kinds == {"k:"}:
            return _same_items(wanted, live, {name[2:]: below for name, below in owned.items() if name != "."})
        if kinds == {"v:"}:
            values = [json.loads(name[2:]) for name in owned if name != "."]
            return len(values) == len(wanted) and all(value in values for value in wanted) and _in_order(wanted, live)
    return False


def _same_items(wanted: List[Any], live: List[Any], owned: Mapping[str, _Fields]) -> bool:
    """The same for a list whose items have keys, such as the containers of a pod."""
    if len(owned) != len(wanted):
        return False
    order = []
    for item in wanted:
        # A key that is not given has a default, which only the API server knows.
        keys = [text for text in owned if _fits(item, json.loads(text), True)]
        if len(keys) != 1:
            return False
        places = [place for place, other in enumerate(live) if _fits(other, json.loads(keys[0]), False)]
        if len(places) != 1 or not _same(item, live[places[0]], owned[keys[0]]):
            return False
        order.append(places[0])
    return order == sorted(order)


def _fits(item: Any, keys: Mapping[str, Any], defaulted: bool) -> bool:
    return isinstance(item, dict) and all(
        item[name] == value if name in item else defaulted for name, value in keys.items()
    )


def _in_order(wanted: List[Any], live: List[Any]) -> bool:
    return [item for item in live if item in wanted] == wanted


def _equal(wanted: Any, live: Any, field: str) -> bool:
    """Whether a value that is one to the API server is the one wanted, but for known defaults."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        defaults = _DEFAULTS.get(field, {})
        return all(
            _equal(wanted[name], value, name) if name in wanted else name in defaults and defaults[name] == value
            for name, value in live.items()
        ) and all(name in live for name in wanted)
    if isinstance(wanted, list) and isinstance(live, list):
        return len(wanted) == len(live) and all(_equal(item, other, field) for item, other in zip(wanted, live))
    # In Python True is 1, in JSON it is not.
    return isinstance(wanted, bool) == isinstance(live, bool) and bool(wanted == live)
