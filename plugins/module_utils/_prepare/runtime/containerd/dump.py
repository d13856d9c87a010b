# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""What a configuration means to the installed containerd, without putting it in place."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import (
    RUNTIMES,
    ConfigKey,
    Effective,
    same,
    section,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd import chain as runtime_chain
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd.chain import Chain
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import redact
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import (
    Path,
    TomlDocument,
    differences,
    lines_of,
    quoted,
    with_keys,
)
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import joined

# For these, containerd prints what it read last, not what is in effect.
LAST_READ = ("imports", "version")


class ConfigDump:
    """Runs ``containerd config dump``, which takes the start of a Go program each time."""

    def __init__(self, binary: str, run: Runner) -> None:
        self._binary = binary
        self._run = run

    def now(self, main: str) -> Effective:
        """The effective configuration as installed, without parsing it here.

        :raises HostError: containerd refuses it, in containerd's own words.
        """
        return self._dump(main, {})

    def staged(self, chain: Chain, main: str, texts: Dict[str, str]) -> Effective:
        """The effective configuration of the chain with these texts replacing or added to its files.

        :raises HostError: containerd refuses it.
        """
        with tempfile.TemporaryDirectory(prefix="zerocopy-rdma-") as directory:
            names: Dict[str, str] = {}
            # Without a main file containerd has its defaults, as with an empty one.
            view = {main: "version = 2\n", **{source.path: source.text for source in chain.sources}, **texts}
            self._write(directory, main, view, names)
            return self._dump(os.path.join(directory, names[main]), names)

    def _write(self, directory: str, path: str, view: Dict[str, str], names: Dict[str, str]) -> None:
        if path in names or path not in view:
            return
        names[path] = f"{len(names)}.toml"
        document = TomlDocument(view[path], path)
        children = []
        for pattern in runtime_chain.imports(document, path):
            children += sorted(name for name in view if runtime_chain.matches(pattern, name))
        for child in children:
            self._write(directory, child, view, names)
        staged = [os.path.join(directory, names[child]) for child in children if child in names]
        with open(os.path.join(directory, names[path]), "w", encoding="utf-8", errors="surrogateescape") as handle:
            handle.write(_with_imports(view[path], document, staged))

    def _dump(self, path: str, names: Dict[str, str]) -> Effective:
        done = self._run([self._binary, "--config", path, "config", "dump"], timeout=60)
        if done.rc != 0:
            reason = done.reason
            for real, name in names.items():
                reason = reason.replace(os.path.join(os.path.dirname(path), name), real)
            raise HostError(reason)
        return Effective(TomlDocument(done.out, "containerd config dump").data, complete=True)


def _with_imports(text: str, document: TomlDocument, paths: List[str]) -> str:
    at = document.keys.get(("imports",))
    if at is None:
        return text
    lines = lines_of(text)
    rest = lines[at.last][at.column :]
    return "".join([*lines[: at.first], f"imports = {quoted(paths)}{rest}", *lines[at.last + 1 :]])


def check(before: Effective, after: Effective, keys: Sequence[ConfigKey]) -> None:
    """Verify that the new configuration is the old one with exactly these keys set.

    :raises HostError: more or less than that differs.
    """
    wanted = {key.full(before.version): key.value for key in keys}
    expected = with_keys(before.data, wanted)
    wrong = [
        (path, old, new)
        for path, old, new in differences(expected, after.data)
        # A key that is zero, false or empty means the same as none.
        if path[0] not in ("imports", "version")
        and (old or new is not None)
        and not (path in wanted and same(old, new))
    ]
    if wrong:
        texts = [
            f"{'.'.join(path)} would be {redact.value(path, new)!r} instead of {redact.value(path, old)!r}"
            for path, old, new in wrong
        ]
        listed = joined(texts, 5, "; ")
        raise HostError(f"the new configuration would change more than intended, so nothing is changed: {listed}")


def check_others(
    now: Effective, after: Effective, keys: Sequence[ConfigKey], others: Sequence[Tuple[Path, Any]]
) -> None:
    """Verify that what others have set, and is in effect, stays, and that no handler becomes one that cannot start.

    A configuration is compared with what it is without our lines (``check``). Others may have built on these lines.

    :raises HostError: that would change.
    """
    wanted = {key.full(after.version) for key in keys}
    lost = [
        (path, old, new)
        for path, old, new in differences(now.data, after.data)
        if path not in wanted and any(path == other and same(old, value) for other, value in others)
    ]
    for name, table in now.handlers.items():
        type_now, left = table.get("runtime_type"), after.handlers.get(name)
        if type_now and left is not None and not left.get("runtime_type"):
            lost.append(((*section("cri", after.version), *RUNTIMES, name, "runtime_type"), type_now, None))
    if lost:
        listed = joined([f"{'.'.join(path)} = {redact.value(path, old)!r}" for path, old, _new in lost], 5, "; ")
        raise HostError(
            "the new configuration would lose settings that are not of this collection, so nothing is changed:"
            f" {listed}. Move what was added below a line that ends in '# zerocopy.rdma' to a file or table of its own"
        )
