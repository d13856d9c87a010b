# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Keeps what Python compiles of zip files, for tests only.

Ansible sends a module and all that it imports as a zip file of sources, which Python compiles anew in each process. A
Python that finds this file by ``PYTHONPATH`` reads back what another one has compiled of the same text. That saves a
sixth of the processor's time where tests play recorded nodes, and more in emulated guests, whose image has it.
"""

from __future__ import annotations

import _imp
import marshal
import os
import sys
import zipimport

DIRECTORY = os.path.join(os.path.dirname(__file__), "../../build/compiled")
_compiled = zipimport._compile_source  # type: ignore[attr-defined]


def _kept(pathname: str, source: bytes) -> object:
    """The code of a source, in place of ``zipimport._compile_source``."""
    digest = _imp.source_hash(len(source), source).hex()
    path = os.path.join(DIRECTORY, f"{digest}-{len(source)}.{sys.implementation.cache_tag}")
    try:
        with open(path, "rb") as kept:
            code = marshal.load(kept)
    except (OSError, EOFError, ValueError, TypeError):
        # Not kept yet, or lost in part when a guest was killed.
        code = _compiled(pathname, source)
        _keep(path, code)
    else:
        # The zip file that it was compiled from is gone.
        _imp._fix_co_filename(code, pathname)  # type: ignore[attr-defined]
    return code


def _keep(path: str, code: object) -> None:
    scratch = f"{path}.{os.getpid()}"
    try:
        os.makedirs(DIRECTORY, exist_ok=True)
        with open(scratch, "wb") as file:
            marshal.dump(code, file)  # type: ignore[arg-type]
        # Whole or not at all, as several processes may read and write it.
        os.replace(scratch, path)
    except OSError:
        # Another user's directory, or no room: the next one compiles it again.
        pass


zipimport._compile_source = _kept  # type: ignore[attr-defined]
