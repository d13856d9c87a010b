# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The inventory of a run: BASE's example inventory with what a scenario changes, in the variables of the running tree.

A run has a directory that looks like a checkout as far as ``tests/fleet/inventory.yml`` looks at one: nodes are found
in its ``build/demo/nodes``, and manifests are written to its ``build/demo/manifests``. Both trees run in the same
directory one after the other, so that paths do not differ.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.zerocopy.rdma.tests.same.scenarios import Groups, Scenario

# Of a name in renamed.yml: the new name, None where the variable is gone, or ``{name: ..., values: {old: new}}``.
Renamed = Mapping[str, Any]
_EXAMPLE, _FLEET, _LAYER = Path("inventory"), Path("tests/fleet/inventory.yml"), Path("layer")


def build(run: Path, source: Path, renamed: Renamed, groups: Groups, scenario: Scenario) -> None:
    """Write the inventory of a run, with the hosts of the scenario.

    :arg source: the checkout with the inventory to begin with.
    :arg groups: variables by group, which take precedence over those of the example.
    """
    # A tree's own inventory has to be right as it is.
    of_example = {} if scenario.own else renamed
    for part in (_EXAMPLE, _FLEET.parent, _LAYER):
        shutil.rmtree(run / part, ignore_errors=True)
    files = [path for path in (source / _EXAMPLE).rglob("*") if path.is_file()]
    for path in [*files, source / _FLEET]:
        content = translated(yaml.safe_load(path.read_text()) or {}, of_example)
        if path.name in ("hosts.yml", "inventory.yml"):
            _keep(content, scenario.hosts)
        _write(run / path.relative_to(source), content)
    layer(run, renamed, groups)


def sources(run: Path) -> list[Path]:
    """The inventories of a run, for ``--inventory``."""
    return [run / _EXAMPLE, run / _FLEET, run / _LAYER / "hosts.yml"]


def layer(run: Path, renamed: Renamed, groups: Groups) -> None:
    """Write the variables that take precedence over those of the example."""
    shutil.rmtree(run / _LAYER, ignore_errors=True)
    children: dict[str, Any] = {group: {} for group in groups if group != "all"}
    _write(run / _LAYER / "hosts.yml", {"all": {"children": children}})
    for group, own in groups.items():
        _write(run / _LAYER / "group_vars" / f"{group}.yml", translated(own, renamed))


def translated(value: Any, renamed: Renamed) -> Any:
    """The same in the new variables, in whatever depth and in templates too."""
    if isinstance(value, dict):
        pairs = [_pair(key, one, renamed) for key, one in value.items()]
        return {key: one for key, one in pairs if key is not None}
    if isinstance(value, list):
        return [translated(one, renamed) for one in value]
    if isinstance(value, str):
        return re.sub(r"\brdma_\w+", lambda found: _name(found[0], renamed) or found[0], value)
    return value


def _name(name: Any, renamed: Renamed) -> Any:
    if name not in renamed:
        return name
    entry = renamed[name]
    return entry["name"] if isinstance(entry, dict) else entry


def _pair(key: Any, value: Any, renamed: Renamed) -> tuple[Any, Any]:
    entry = renamed.get(key)
    if isinstance(entry, dict) and isinstance(value, (str, int, bool)):
        value = entry.get("values", {}).get(value, value)
    return _name(key, renamed), translated(value, renamed)


def _keep(content: Any, hosts: list[str]) -> None:
    groups = content["all"]["children"]
    for group in groups.values():
        group["hosts"] = {host: own for host, own in group["hosts"].items() if host in hosts}


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False, width=10_000))
