# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!
"""The command line with which systemd starts a runtime, for one that does not run."""

from __future__ import annotations

import posixpath
import re
from typing import List, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import of

_COMMAND = re.compile(r"ExecStart=\{ path=(?P<path>.*?) ; argv\[\]=(?P<argv>.*) ; ignore_errors=.*\}")
# Anything else is quoted by some versions of systemd and not by others, or systemd replaces it at the start.
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@+-]+")
_CONFIG = ("config", "c")


def command(layout: RuntimeLayout, run: Runner) -> Tuple[str, ...]:
    """The arguments in the unit, the binary first.

    :raises HostError: the unit does not start the runtime itself, or in a way that cannot be read exactly.
    """
    said = must(run(["systemctl", "show", "--property=ExecStart", layout.unit]), f"systemctl show {layout.unit}")
    lines = [line for line in said.splitlines() if line]
    found = _COMMAND.fullmatch(lines[0]) if len(lines) == 1 else None
    if found is None:
        raise HostError(f"{layout.unit}: its ExecStart must be a single command, not {' | '.join(lines) or 'none'}")
    words = found.group("argv").split(" ")
    process = of(layout).process
    if posixpath.basename(words[0]) != process or words[0] != found.group("path"):
        raise HostError(f"{layout.unit}: its ExecStart must start {process} itself, not {found.group('argv')!r}")
    strange = [word for word in words if not _PLAIN.fullmatch(word)]
    if strange:
        raise HostError(
            f"{layout.unit}: the arguments of its ExecStart cannot be read exactly, because of {strange[0]!r}: write"
            " them without variables, quotes and specifiers"
        )
    return tuple(words)


def configured(layout: RuntimeLayout, run: Runner) -> RuntimeLayout:
    """The layout of a runtime that does not run, with what its unit says, as far as that can be read."""
    try:
        return of(layout).configured(layout, command(layout, run))
    except HostError:
        return layout


def with_config(words: Tuple[str, ...], path: str) -> str:
    """The same command line with another configuration file."""
    kept: List[str] = [words[0], "--config", path]
    left = list(words[1:])
    while left:
        word = left.pop(0)
        name, equals, _value = word.partition("=")
        if name.startswith("-") and name.lstrip("-") in _CONFIG:
            left = left if equals else left[1:]
        else:
            kept.append(word)
    return " ".join(kept)
