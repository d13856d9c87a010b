# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names and types of variables, as the roles' ``argument_specs.yml`` have them.

Stricter than the check that Ansible makes when a role starts: what Ansible would convert although it is surely a
mistake (``yes`` for a text, ``1.5`` for a text, one text for a list) is refused, and so is a name that nobody reads.
"""

from __future__ import annotations

import datetime
import difflib
import math
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import PlanError, Problem, shown, wrong

Options = Mapping[str, Mapping[str, Any]]

ROLES = Path(__file__).resolve().parents[3] / "roles"
PREFIX = "rdma_"
STRATEGY = "rdma_strategy"
# The group of a host, if it is in several; what Ansible calls the group of hosts without one.
GROUP, UNGROUPED = "rdma_group", "ungrouped"
# Sets of objects in the cluster: how their names begin, and the namespace of the Secrets that are their parents.
SET, PARENT_NAMESPACE = "rdma_set", "rdma_parent_namespace"
# How what runs on nodes is rolled out.
WAIT, MAX_UNAVAILABLE = "rdma_wait", "rdma_max_unavailable"
# What rdma_discover sets for a host that does not answer, and why it has no answer, in Base64.
SILENT, SILENCE = "rdma_discover_silent", "rdma_discover_silence"
_LEFT = re.compile(rf"^(?: +register: ({PREFIX}[a-z_]+)|({PREFIX}[a-z_]+):.*)\n", re.MULTILINE)


def left_by(roles: Path = ROLES) -> List[str]:
    """What the tasks and ``vars`` of roles leave for other roles and for playbooks."""
    texts = [path.read_text("utf-8") for part in ("tasks", "vars") for path in sorted(roles.glob(f"*/{part}/*.yml"))]
    return list(dict.fromkeys(filter(None, (name for text in texts for both in _LEFT.findall(text) for name in both))))


# Variables that the playbooks themselves read, besides those of the roles.
PLAYBOOKS: Options = {
    "rdma_artifacts": {"type": "str"},
    "rdma_cluster": {"type": "str", "choices": ["kubernetes", "none"]},
    "rdma_context": {"type": "str"},
    "rdma_gpu_resources": {"type": "list", "elements": "str"},
    "rdma_hosts": {"type": "str"},
    "rdma_kubeconfig": {"type": "str"},
    "rdma_manifests": {"type": "str"},
    MAX_UNAVAILABLE: {"type": "str", "default": "1"},
    PARENT_NAMESPACE: {"type": "str", "default": "kube-system"},
    "rdma_serial": {"type": "raw"},
    "rdma_serial_max": {"type": "raw"},
    STRATEGY: {"type": "str", "default": "dra"},
    WAIT: {"type": "bool", "default": True},
}

# Of these, what only roles read, so that a play of a user may set it for its roles.
OF_ROLES = (PARENT_NAMESPACE, WAIT, MAX_UNAVAILABLE)

_MISSPELT_PREFIX = re.compile(r"^(?!rdma)(?=.{0,3}r)(?=.{0,3}d)(?=.{0,3}m)(?=.{0,3}a)[rdma]{4}_", re.IGNORECASE)
_TRUE, _FALSE = ("yes", "on", "true", "1", "y", "t", "1.0"), ("no", "off", "false", "0", "n", "f", "0.0")


@lru_cache(maxsize=None)
def results() -> Options:
    """Variables that one play of a run sets for a later one, and users don't. Some hold the whole fleet."""
    of_plays: Options = {
        SILENT: {"type": "bool"},
        SILENCE: {"type": "str"},
        "rdma_access_anyway": {"type": "bool"},
        "rdma_cluster_access": {"type": "raw"},
        "rdma_drift_blocked": {"type": "raw"},
        "rdma_images": {"type": "raw"},
        "rdma_node_plan": {"type": "str"},
        "rdma_migrate_plan": {"type": "raw"},
        "rdma_ofed_waves": {"type": "raw"},
        "rdma_plan_provisions": {"type": "bool"},
        "rdma_preflight_parts": {"type": "raw"},
        "rdma_preflight_role": {"type": "str"},
        "rdma_provision_nodes": {"type": "raw"},
        "rdma_provision_unserved": {"type": "raw"},
        SET: {"type": "str", "default": "zerocopy-rdma"},
        "rdma_verify_batch": {"type": "raw"},
        "rdma_verify_moved": {"type": "raw"},
        "rdma_health_tolerant": {"type": "bool"},
        "rdma_cabling_whole_fleet": {"type": "bool"},
        "rdma_health_whole_fleet": {"type": "bool"},
        "rdma_verify_whole_fleet": {"type": "bool"},
        "rdma_waves": {"type": "raw"},
    }
    return {**{name: {"type": "raw"} for name in left_by()}, **of_plays}


@lru_cache(maxsize=None)
def of_playbooks() -> Options:
    """What playbooks read and set themselves: of no role's specification."""
    return {**PLAYBOOKS, **results()}


@lru_cache(maxsize=None)
def options_of() -> Options:
    """Every variable of every role with its specification."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Dict[str, Mapping[str, Any]] = dict(of_playbooks())
    for path in sorted(ROLES.glob("*/meta/argument_specs.yml")):
        # The safe loader, or its faster twin.
        specs = yaml.load(path.read_text("utf-8"), Loader=loader)  # noqa: S506
        for entry in specs["argument_specs"].values():
            found.update(entry.get("options") or {})
    return found


def defaults(known: Options) -> Dict[str, Any]:
    """The default of each variable, ``None`` for one without."""
    return {name: option.get("default") for name, option in known.items()}


def with_prefix(prefix: Union[str, Tuple[str, ...]], known: Options) -> Options:
    """The options of one role, or some, without what its tasks leave for later ones."""
    return {name: option for name, option in known.items() if name.startswith(prefix) and name not in results()}


def _text(at: str, value: Any, option: Mapping[str, Any]) -> str:
    if isinstance(value, bool) and str(value).lower() in [str(choice).lower() for choice in option.get("choices", [])]:
        return str(value).lower()
    if isinstance(value, bool):
        raise PlanError(wrong(at, value, "it must be a string: quote it, YAML reads yes, no, on, off as booleans"))
    if isinstance(value, datetime.date):
        raise PlanError(Problem(at, f"is the date {value}, it must be a string: quote it, YAML reads it as a date"))
    if isinstance(value, float):
        raise PlanError(wrong(at, value, "it must be a string or a whole number: quote it if it is a string"))
    if not isinstance(value, (str, int)):
        raise PlanError(wrong(at, value, "it must be a string"))
    return str(value)


def _path(at: str, value: Any, _option: Mapping[str, Any]) -> str:
    if not isinstance(value, str) or not value:
        raise PlanError(wrong(at, value, "it must be a path"))
    return str(value)


def _integer(at: str, value: Any, _option: Mapping[str, Any]) -> int:
    if isinstance(value, bool) or not re.fullmatch("[+-]?[0-9]{1,18}", str(value)):
        raise PlanError(wrong(at, value, "it must be a whole number"))
    return int(value)


def _number(at: str, value: Any, _option: Mapping[str, Any]) -> float:
    try:
        found = float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise PlanError(wrong(at, value, "it must be a number"))
    return found


def _boolean(at: str, value: Any, _option: Mapping[str, Any]) -> bool:
    text = str(value).lower()
    if text not in _TRUE + _FALSE:
        raise PlanError(wrong(at, value, "it must be true or false"))
    return text in _TRUE


def _list(at: str, value: Any, option: Mapping[str, Any]) -> List[Any]:
    if not isinstance(value, (list, tuple)):
        raise PlanError(wrong(at, value, "it must be a list"))
    inner = dict(option, type=option.get("elements", "raw"))
    return [convert(f"{at}[{index}]", element, inner) for index, element in enumerate(value)]


def _map(at: str, value: Any, option: Mapping[str, Any]) -> Dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise PlanError(wrong(at, value, "it must be a map of names to values"))
    inner = option.get("options")
    if inner is None:
        return dict(value)
    for key in value:
        if key not in inner:
            raise PlanError(Problem(at, f"has the key {key!r}, {_instead(str(key), inner)}"))
    for key, option in inner.items():
        if option.get("required") and value.get(key) is None:
            raise PlanError(Problem(at, f"has no {key}, which is required: it is {shown(dict(value))}"))
    return {key: _entry(f"{at}.{key}", key, item, inner) for key, item in value.items() if item is not None}


def _entry(at: str, key: str, value: Any, known: Mapping[str, Any]) -> Any:
    try:
        return convert(at, value, known[key])
    except PlanError as error:
        # How many there are to be has a name of its own: gpu and gpus, nic and nics.
        if f"{key}s" not in known or isinstance(value, Mapping):
            raise
        problem = error.problem
        raise PlanError(replace(problem, text=f"{problem.text}; did you mean {key}s?")) from None


def _raw(_at: str, value: Any, _option: Mapping[str, Any]) -> Any:
    return value


_CONVERT: Dict[str, Callable[[str, Any, Mapping[str, Any]], Any]] = {
    "str": _text,
    "path": _path,
    "int": _integer,
    "float": _number,
    "bool": _boolean,
    "list": _list,
    "dict": _map,
    "raw": _raw,
}


def convert(at: str, value: Any, option: Mapping[str, Any]) -> Any:
    """The value in its type (``type``, ``elements``, ``options``, ``choices`` of a role's option). Raises PlanError."""
    kind = option.get("type", "str")
    found = _CONVERT.get(kind, _raw)(at, value, option)
    choices = option.get("choices")
    if choices and kind not in ("list", "dict") and found not in choices:
        raise PlanError(wrong(at, value, f"it must be {' or '.join(map(str, choices))}"))
    return found


def ours(name: str) -> bool:
    """Whether a variable's name says that it is meant for this collection."""
    return name.startswith(PREFIX) or _MISSPELT_PREFIX.match(name) is not None


def _instead(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"it must be one of {', '.join(sorted(known))}"


@lru_cache(maxsize=4096)
def _unknown(name: str, known: Tuple[str, ...]) -> Optional[Problem]:
    if name in known or not ours(name):
        return None
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    if close:
        return Problem(name, f"is not used by any role, did you mean {close[0]}?")
    if not name.startswith(PREFIX):
        return None
    text = f"is not used by any role: a variable of your own needs another prefix than {PREFIX}"
    return Problem(name, text)


def unknown(names: Iterable[str], known: Options) -> List[Problem]:
    """A problem for every name that looks like a variable of this collection, but is not one."""
    every = tuple(known)
    return [problem for problem in (_unknown(str(name), every) for name in names) if problem is not None]


def converted(variables: Mapping[str, Any], known: Options) -> Tuple[Dict[str, Any], List[Problem]]:
    """The values in their types, and a problem for each that has another. What is null counts as not set."""
    values: Dict[str, Any] = {}
    problems: List[Problem] = []
    for name, value in variables.items():
        option = known.get(name)
        if option is None:
            continue
        if value is None:
            if option.get("default") is not None:
                default = shown(option["default"])
                problems.append(Problem(name, f"is empty (null): give it a value, or leave it out for {default}"))
            continue
        try:
            values[name] = convert(name, value, option)
        except PlanError as error:
            problems.append(error.problem)
    return values, problems


def strategy_of(variables: Mapping[str, Any]) -> str:
    """How the pods of a host reach RDMA, by the name of a strategy, which may be unknown."""
    return str(variables.get(STRATEGY) or PLAYBOOKS[STRATEGY]["default"])


def sent(variables: Mapping[str, Any]) -> Any:
    """What one host of ``hostvars`` sent as RDMA facts, ``None`` for nothing.

    Facts hold no templates. Looking for some in them, as ``hostvars`` does, would take most of a filter's time.
    """
    return (getattr(variables, "_vars", variables).get("ansible_facts") or {}).get("rdma")


def facts_of(variables: Mapping[str, Any]) -> Optional[Facts]:
    """The RDMA facts of one host of ``hostvars``, if it has any. Raises FactsError."""
    found = sent(variables)
    return None if found is None else read.facts(found)
