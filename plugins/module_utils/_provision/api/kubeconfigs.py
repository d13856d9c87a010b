# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Kubeconfigs as kubectl reads them: of several files, what comes first is kept.

Source: kubernetes/client-go, tools/clientcmd/loader.go.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.yaml_values import TextError, read

_LISTS = ("clusters", "contexts", "users")
# Fields with a path that is relative to the file that has it.
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


@dataclass(frozen=True)
class Chosen:
    """A context of a kubeconfig."""

    context: str
    user: str
    server: str


def chosen(config: Mapping[str, Any], context: Optional[str]) -> Chosen:
    """The context of this name, or else the current one. Raises ValueError."""
    if empty(config):
        raise ValueError("No configuration found")
    contexts, clusters = _named(config, "contexts"), _named(config, "clusters")
    name = str(context or config.get("current-context") or "")
    there = f"there are {', '.join(sorted(contexts)) or 'none'}"
    if not name:
        raise ValueError(f"no context is current, and none is chosen: {there}")
    if name not in contexts:
        raise ValueError(f"there is no context {name}: {there}")
    found = contexts[name]
    server = clusters.get(str(found.get("cluster")), {}).get("server")
    if not server:
        raise ValueError(f"context {name} has no cluster with a server")
    return Chosen(name, str(found.get("user") or ""), str(server).rstrip("/"))


def empty(config: Mapping[str, Any]) -> bool:
    """Whether there is nothing in it that could be chosen."""
    return not any(config.get(name) for name in _LISTS)


def merged(files: Sequence[str]) -> Dict[str, Any]:
    """These kubeconfigs as one, with absolute paths in it.

    Files that do not exist are left out, as by kubectl. Raises ValueError.
    """
    found: Dict[str, Any] = {}
    for path in files:
        _merge(found, _read(path), os.path.dirname(path))
    return found


def _read(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            documents = read(file.read())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error
    except TextError as error:
        raise ValueError(f"{path} {error}") from error
    content = documents[0] if documents else None
    if len(documents) > 1 or (content is not None and not isinstance(content, dict)):
        raise ValueError(f"{path} is not a kubeconfig")
    return content or {}


def _merge(found: Dict[str, Any], content: Mapping[str, Any], directory: str) -> None:
    for name in _LISTS:
        known = _named(found, name)
        found.setdefault(name, []).extend(
            {"name": each, name[:-1]: _absolute(fields, directory)}
            for each, fields in _named(content, name).items()
            if each not in known
        )
    for name, value in content.items():
        # An empty current-context chooses nothing.
        if name not in _LISTS and value:
            found.setdefault(name, value)


def _absolute(fields: Mapping[str, Any], directory: str) -> Dict[str, Any]:
    done = {**fields, **{name: os.path.join(directory, str(fields[name])) for name in _PATHS if fields.get(name)}}
    plugin = fields.get("exec")
    # A command without a slash is looked for in PATH.
    if isinstance(plugin, dict) and "/" in str(plugin.get("command")):
        done["exec"] = {**plugin, "command": os.path.join(directory, plugin["command"])}
    return done


def _named(config: Mapping[str, Any], name: str) -> Dict[str, Mapping[str, Any]]:
    entries = config.get(name) or []
    try:
        return {str(entry["name"]): dict(entry.get(name[:-1]) or {}) for entry in entries}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a list of maps with a name and a {name[:-1]}") from error
