# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""``containerd config dump`` by the rules of containerd 1.7.24, 2.1.9 and 2.4.2, on top of what these print.

``tests/unit/fixtures/runtime`` says where the dumps come from. The rules are in containerd's source (``LoadConfig`` and
``mergeConfig``): imports breadth first; 1.7 replaces a plugin section as a whole and forgets the defaults of a runtime
handler that is named, 2.x merges key by key and turns version 2 names into those of version 3.
"""

from __future__ import annotations

import copy
import glob
import os
from pathlib import Path
from typing import Any, Dict, List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    TomlDocument,
    header,
    quoted,
)

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "runtime"
SPEC = (FIXTURES / "oci-spec-1.7.24.json").read_text(encoding="utf-8")
CRI_2, CRI_3 = "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"
# What containerd 1.7 keeps of a handler that a file names only in part.
BARE = {"runtime_type": "", "sandbox_mode": "", "options": {}}


def rendered(data, where=()):
    lines = [header(where)] if where else []
    lines += [f"{quoted(key) if '.' in key else key} = {quoted(value)}" for key, value in data.items() if plain(value)]
    for key, value in data.items():
        if isinstance(value, dict):
            lines += rendered(value, (*where, key))
    return lines


def plain(value):
    return not isinstance(value, dict) and not (isinstance(value, list) and value and isinstance(value[0], dict))


def overlay(into, other):
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            overlay(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


class Containerd:
    """A runner that knows ``config dump`` and ``oci spec``; ``asked`` counts what was run."""

    def __init__(self, version: str) -> None:
        text = (FIXTURES / f"dump-{version}.toml").read_text(encoding="utf-8")
        self.defaults = TomlDocument(text, version).data
        self.asked: List[List[str]] = []
        self.root = ""
        self.spec = SPEC

    def __call__(self, argv, timeout=60, stdin=None):
        self.asked.append(list(argv))
        if argv[-2:] == ["oci", "spec"]:
            return Completed(0, self.spec, "")
        try:
            main = argv[2] if os.path.exists(argv[2]) else self.root + argv[2]
            return Completed(0, "\n".join(rendered(self.dump(main))) + "\n", "")
        except HostError as error:
            return Completed(1, "", f"containerd: failed to load TOML: {error}\n")

    def dump(self, main):
        result = copy.deepcopy(self.defaults)
        old = self.defaults["version"] == 2
        plugins: Dict[str, Any] = {}
        pending, loaded = [main], []
        while pending:
            path = pending.pop(0)
            if path in loaded:
                continue
            loaded.append(path)
            if not os.path.exists(path):
                raise HostError(f"open {path}: no such file or directory")
            data = TomlDocument(Path(path).read_text(encoding="utf-8"), path).data
            for entry in data.get("imports", []):
                pending += sorted(glob.glob(entry)) if "*" in entry else [entry]
            for name, section in data.get("plugins", {}).items():
                if old:
                    plugins[name] = section
                elif name == CRI_2 and data["version"] == 2:
                    overlay(plugins, {CRI_3: section})
                else:
                    overlay(plugins, {name: section})
            overlay(result, {key: value for key, value in data.items() if key not in ("plugins", "imports", "version")})
        for name, section in plugins.items():
            known = result["plugins"].setdefault(name, {})
            handlers = section.get("containerd", {}).get("runtimes", {}) if old else {}
            for handler in handlers:
                table = known["containerd"]["runtimes"].setdefault(handler, {"base_runtime_spec": ""})
                overlay(table, BARE)
                table["options"] = {}
            overlay(known, section)
        return result
