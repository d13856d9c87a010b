# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The files of CRI-O: drop-ins in its own directory, where later files override earlier ones key by key."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger.ledger import File
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import unit_limit
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import (
    Installation,
    Parts,
    RuntimeLayout,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import (
    NRI,
    Effective,
    RuntimePlan,
    enough,
    same,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.ownership import (
    DROPIN,
    OurFiles,
    named,
    refuse_foreign,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    Path,
    TomlDocument,
    header,
    lookup,
    overlaid,
    quoted,
    with_keys,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.memlock import UNLIMITED
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.writing import make_directories

_NRI: Path = ("crio", "nri")
_CLOSED: Path = (*_NRI, "nri_disable_connections")
_ULIMITS: Path = ("crio", "runtime", "default_ulimits")
_MEMLOCK = "memlock="
_HEAD = "# Written by the Ansible collection zerocopy.rdma; changes here are undone by its next run.\n"


def make(installed: Installation, parts: Parts, own: OurFiles) -> RuntimePlan:
    """Plan drop-ins in CRI-O's directory.

    :raises HostError: a file is broken, or one that CRI-O reads after ours says something else.
    """
    files, layout, binary, run = installed.files, installed.layout, installed.binary, installed.run
    for option, variable, path in (
        ("--config", "CONTAINER_CONFIG", layout.main),
        ("--config-dir", "CONTAINER_CONFIG_DIR", layout.dropins),
    ):
        if not path.startswith("/"):
            raise HostError(
                f"CRI-O runs with {option} {path!r} (or {variable} in its environment): it must be an absolute path, or"
                " be left out"
            )
    dropins = _dropins(files, layout.dropins, own)
    paths = [layout.main, *dropins]
    if files.live:
        _accepted(
            files, layout, dropins, binary, run, {}, "CRI-O rejects its present configuration, so nothing is changed"
        )
    documents = {path: TomlDocument(files.text(path) or "", path) for path in paths}
    before: Dict[str, Any] = {}
    for document in documents.values():
        _check(document)
        before = overlaid(before, document.data)
    wanted = _wanted(parts, before)
    texts: Dict[str, str] = {}
    for part, keys in wanted.items():
        path = f"{layout.dropins}/{DROPIN}{part}.conf"
        _not_overridden(path, documents, keys)
        tables: Dict[Path, List[str]] = {}
        for key, value in keys:
            tables.setdefault(key[:-1], []).append(f"{key[-1]} = {quoted(value)}\n")
        texts[path] = _HEAD + "".join("\n" + header(table) + "\n" + "".join(rows) for table, rows in tables.items())
    if files.live and texts:
        _accepted(
            files, layout, dropins, binary, run, texts, "CRI-O rejects the new configuration, so nothing is changed"
        )
    after = before
    for keys in wanted.values():
        after = with_keys(after, dict(keys))
    plan = RuntimePlan(before=_effective(before), effective=_effective(after))
    plan.wanted = [File(path, text) for path, text in texts.items()]
    if "memlock" in parts:
        unit_limit.add(files, layout.unit, int(parts["memlock"]["limit"]), plan)
    refuse_foreign(files, plan.wanted, own)
    plan.files = [*paths, *(file.path for file in plan.wanted)]
    plan.globs += [f"{layout.dropins}/*", f"{layout.dropins}/*/*"]
    return plan


def _dropins(files: Files, directory: str, own: OurFiles) -> List[str]:
    """Drop-ins that are not ours, in CRI-O's order: of any name, also in directories below (UpdateFromPath)."""
    found: List[str] = []
    for name in files.names(directory):
        path = f"{directory}/{name}"
        full = os.path.join(files.full(directory), name)
        if os.path.isdir(full) and not os.path.islink(full):
            found += _dropins(files, path, own)
        elif not (path in own and named(path)):
            found.append(path)
    return found


def _check(document: TomlDocument) -> None:
    """:raises HostError: a setting that is read here has a type that CRI-O does not accept."""
    for table in (_NRI[:1], _NRI, _ULIMITS[:2]):
        found = document.get(table, {})
        if not isinstance(found, dict):
            raise HostError(f"{document.name}: {'.'.join(table)} must be a table, not {found!r}")
    limits = document.get(_ULIMITS, [])
    if not isinstance(limits, list) or not all(isinstance(entry, str) for entry in limits):
        raise HostError(
            f'{document.name}: {".".join(_ULIMITS)} must be a list such as ["nofile=1024:2048"], not {limits!r}'
        )


def _wanted(parts: Parts, before: Dict[str, Any]) -> Dict[str, List[Tuple[Path, Any]]]:
    wanted: Dict[str, List[Tuple[Path, Any]]] = {}
    if "nri" in parts:
        if parts["nri"]["validator"] == "true":
            raise HostError("validator: NRI's default validator is not supported with CRI-O: use 'auto' or 'false'")
        wanted["nri"] = [
            ((*_NRI, "enable_nri"), True),
            *([(_CLOSED, False)] if lookup(before, _CLOSED) else []),
            *_timeout("nri_plugin_registration_timeout", parts["nri"]["registration_timeout"], before),
            *_timeout("nri_plugin_request_timeout", parts["nri"]["request_timeout"], before),
        ]
    if "memlock" in parts:
        limit, have = int(parts["memlock"]["limit"]), lookup(before, _ULIMITS, [])
        if _memlock(have) < limit:
            value = "-1" if limit == UNLIMITED else str(limit)
            # The list is replaced as a whole, so the other entries are copied.
            kept = [entry for entry in have if not entry.startswith(_MEMLOCK)]
            wanted["memlock"] = [(_ULIMITS, [*kept, f"{_MEMLOCK}{value}:{value}"])]
    return wanted


def _timeout(name: str, least: str, before: Dict[str, Any]) -> List[Tuple[Path, Any]]:
    """The setting, unless there is a longer one."""
    key = (*_NRI, name)
    have = lookup(before, key)
    return [(key, least)] if same(have, least) or not enough(have, least) else []


def _memlock(limits: Sequence[str]) -> int:
    """Bytes that a container may lock with these entries, ``NAME=SOFT[:HARD]``; the last one of a name counts."""
    entries = [entry[len(_MEMLOCK) :] for entry in limits if entry.startswith(_MEMLOCK)] or ["0"]
    return min(UNLIMITED if side == "-1" else int(side) if side.isdecimal() else 0 for side in entries[-1].split(":"))


def _not_overridden(path: str, documents: Dict[str, TomlDocument], keys: List[Tuple[Path, Any]]) -> None:
    for other, document in documents.items():
        for key, value in keys:
            found = document.get(key)
            later = other.startswith(os.path.dirname(path) + "/") and other.split("/") > path.split("/")
            if later and found is not None and not same(found, value):
                raise HostError(
                    f"{other} is read after {path} and sets {'.'.join(key)} to {quoted(found)} instead of"
                    f" {quoted(value)}: change or remove the setting there"
                )


def _effective(data: Dict[str, Any]) -> Effective:
    """CRI-O's settings under containerd's names."""
    nri = lookup(data, _NRI, {})
    section = {
        "disable": not nri.get("enable_nri", True),
        "disable_connections": nri.get(_CLOSED[-1], False),
        "socket_path": nri.get("nri_listen", ""),
        "plugin_request_timeout": nri.get("nri_plugin_request_timeout", ""),
        "plugin_registration_timeout": nri.get("nri_plugin_registration_timeout", ""),
    }
    return Effective({"version": 0, NRI[0]: {NRI[1]: section}}, complete=True)


def _accepted(
    files: Files,
    layout: RuntimeLayout,
    dropins: List[str],
    binary: str,
    run: Runner,
    texts: Dict[str, str],
    refusal: str,
) -> None:
    """Let CRI-O parse its files with our new ones and without our old ones."""
    with tempfile.TemporaryDirectory(prefix="zerocopy-rdma-") as directory:
        for path in sorted({*dropins, *texts}):
            text = texts.get(path) or files.text(path) or ""
            target = os.path.join(directory, os.path.relpath(path, layout.dropins))
            make_directories(os.path.dirname(target))
            with open(target, "w", encoding="utf-8", errors="surrogateescape") as handle:
                handle.write(text)
        main = ["--config", layout.main] if files.exists(layout.main) else []
        done = run([binary, *main, "--config-dir", directory, "config"], timeout=60)
        if done.rc != 0:
            raise HostError(f"{refusal}: {done.reason.replace(directory, layout.dropins)}")
