# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""How Ansible was called, from its magic variables, for commands to copy."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping

import yaml
from ansible import context as command_line
from ansible.parsing.splitter import parse_kv

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.document import VerifyRun

_COLLECTION = Path(__file__).resolve().parents[2]
_TEMPLATE = re.compile("{[{%#]")
# What the names of variables with values of Helm charts end with, such as rdma_operator_sriov_values.
_OF_CHART = "_values"


def _source(path: str) -> str:
    """A source of the inventory as the user may have given it: Ansible makes all paths absolute."""
    here = os.getcwd()
    return os.path.relpath(path, here) if path.startswith(f"{here}/") else path


def _extra(argument: str) -> List[str]:
    """What to show of an argument of ``-e``.

    Only the names if one of its variables is not of this collection, or has values of a Helm chart: they may contain
    secrets. The same holds for templates, which Ansible would evaluate when they are shown.
    """
    if argument.startswith("@"):
        return [argument]
    try:
        found = yaml.safe_load(argument) if argument[:1] in ("{", "[") else parse_kv(argument)
    except yaml.YAMLError:
        return []
    names = [str(name) for name in found if name != "rdma_hosts"] if isinstance(found, dict) else []
    public = all(name.startswith(plan_variables.PREFIX) and not name.endswith(_OF_CHART) for name in names)
    if public and not _TEMPLATE.search(argument):
        return [argument] if names else []
    return [f"{name}=..." for name in names]


def of(context: Mapping[str, Any], hosts: Mapping[str, str]) -> VerifyRun:
    """The run that ``context``, which is Jinja's, is of; ``hosts`` has the group of each of its hosts."""
    planned: Dict[str, List[str]] = {}
    for name, group in hosts.items():
        planned.setdefault(group, []).append(name)
    groups = context.get("groups") or {}
    return VerifyRun(
        inventory=[_source(str(source)) for source in context.get("ansible_inventory_sources") or []],
        limit=context.get("ansible_limit") or None,
        hosts=context.get("rdma_hosts") or None,
        tags=sorted(set(context.get("ansible_run_tags") or []) - {"all"}),
        groups=[group for group, names in planned.items() if set(groups.get(group) or []) == set(names)],
        extra=[part for argument in command_line.CLIARGS.get("extra_vars") or [] for part in _extra(str(argument))],
    )


def collection_version() -> str:
    """Version of the installed collection, or of the checkout."""
    installed = _COLLECTION / "MANIFEST.json"
    if installed.exists():
        return str(json.loads(installed.read_text("utf-8"))["collection_info"]["version"])
    return str(yaml.safe_load((_COLLECTION / "galaxy.yml").read_text("utf-8"))["version"])
