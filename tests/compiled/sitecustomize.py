# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Keeps what Python compiles of collections and of what Ansible sends to nodes, for tests only.

Ansible sends a module and all that it imports as a zip file of sources, which Python compiles anew in each process, and
its own loader of collections does the same. A Python that finds this file by ``PYTHONPATH`` reads back what another one
has compiled of the same text. That saves a fifth of the processor's time where tests play recorded nodes, and more in
emulated guests, whose image has it.
"""

# Without annotations from the future: what `compile` passes on would inherit them.

import __future__  # isort: skip

import _imp
import builtins
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DIRECTORY = os.path.join(os.path.dirname(__file__), "../../build/compiled")
_compile = builtins.compile
_INHERITED = 0
for _name in __future__.all_feature_names:
    _INHERITED |= getattr(__future__, _name).compiler_flag


def _kept(
    source: "Any",
    filename: "Any",
    mode: str,
    flags: int = 0,
    dont_inherit: bool = False,
    optimize: int = -1,
    **more: "Any",
) -> "Any":
    """The code of a source, in place of ``compile``."""
    whole = mode == "exec" and dont_inherit and not flags and optimize == -1 and not more
    if whole and isinstance(source, (bytes, str)) and "ansible" in os.fsdecode(filename):
        return _code(source, filename)
    if not dont_inherit:
        flags |= sys._getframe(1).f_code.co_flags & _INHERITED
    return _compile(source, filename, mode, flags, True, optimize, **more)


def _code(source: "Any", filename: "Any") -> "Any":
    text = source.encode() if isinstance(source, str) else source
    digest = _imp.source_hash(len(text), text).hex()
    path = os.path.join(DIRECTORY, f"{digest}-{len(text)}.{sys.implementation.cache_tag}")
    try:
        with open(path, "rb") as kept:
            code = marshal.load(kept)
    except (OSError, EOFError, ValueError, TypeError):
        # Not kept yet, or lost in part when a guest was killed.
        code = _compile(source, filename, "exec", 0, True)
        _keep(path, code)
    else:
        # The file that it was compiled from may be gone.
        _imp._fix_co_filename(code, filename)  # type: ignore[attr-defined]
    return code


def _keep(path: str, code: "Any") -> None:
    scratch = f"{path}.{os.getpid()}"
    try:
        os.makedirs(DIRECTORY, exist_ok=True)
        with open(scratch, "wb") as file:
            marshal.dump(code, file)
        # Whole or not at all, as several processes may read and write it.
        os.replace(scratch, path)
    except OSError:
        # Another user's directory, or no room: the next one compiles it again.
        pass


builtins.compile = _kept
