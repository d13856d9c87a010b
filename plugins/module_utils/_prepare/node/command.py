# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Running the node's own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Dict, Optional, Protocol, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError

# The exit status of a tool that is not there, as a shell's.
NOT_INSTALLED = 127
_DIRECTORIES = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"]


@dataclass(frozen=True)
class Completed:
    rc: int
    out: str
    err: str

    @property
    def reason(self) -> str:
        """The last line the tool said about its failure."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1] if lines else f"exit status {self.rc}"


class Runner(Protocol):
    """How the library runs a tool; tests bring their own. A tool that is not installed ends with NOT_INSTALLED."""

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed: ...


def environment() -> Dict[str, str]:
    """The environment in which tools answer in English, and those in sbin are found over ssh as well."""
    given = os.environ.get("PATH", "").split(":")
    # One that is empty or relative means the directory where a run happens to be, which others may write to.
    path = [entry for entry in given if entry.startswith("/")] + _DIRECTORIES
    return {**os.environ, "LC_ALL": "C", "LANGUAGE": "", "PATH": ":".join(path)}


def find(tool: str) -> str:
    """Where a tool is, empty if it is not installed."""
    return shutil.which(tool, path=environment()["PATH"]) or ""


def run(argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
    """Run a tool of the node in the C locale.

    :raises HostError: it did not end within ``timeout`` seconds.
    """
    try:
        done = subprocess.run(  # noqa: S603  (a list, so no shell)
            list(argv),
            check=False,
            env=environment(),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        raise HostError("'{}' did not end within {:g} s".format(" ".join(argv), timeout)) from error
    except OSError as error:
        return Completed(NOT_INSTALLED, "", f"{argv[0]}: {error.strerror}")
    return Completed(done.returncode, done.stdout, done.stderr)


def must(completed: Completed, what: str) -> str:
    """The tool's output.

    :raises HostError: it failed; ``what`` says what was attempted.
    """
    if completed.rc != 0:
        raise HostError(f"{what}: {completed.reason}")
    return completed.out
