# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A node below a directory, for tests of daemons: files, options, and systemd, which is played or really asked."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.daemons.daemon import DaemonRequest, NodeDaemon
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files

# Not text, as the program is not.
PROGRAM = b"#!/usr/bin/env python3\nPK\x03\x04\xff\xfe\x00"


def options(spec: Mapping[str, Mapping[str, Any]], root: Path, **own: Any) -> Dict[str, Any]:
    """The options of a daemon with these, and otherwise its defaults."""
    found = {name: option.get("default") for name, option in spec.items()}
    found.update(program=base64.b64encode(PROGRAM).decode(), digest=hashlib.sha256(PROGRAM).hexdigest())
    return {**found, "interpreter": "/usr/bin/python3", "root": str(root), **own}


class LiveFiles(Files):
    """Files below a directory that are those of a running machine."""

    def full(self, path: str) -> str:
        live, self.live = self.live, False
        try:
            return super().full(path)
        finally:
            self.live = live


def live(root: Path) -> LiveFiles:
    """The files of a running machine whose root is this."""
    files = LiveFiles(str(root))
    files.live = True
    return files


class Systemd:
    """systemd as far as it is asked, with a program that starts or does not."""

    def __init__(self, starts: bool = True) -> None:
        self.asked: List[str] = []
        self.starts, self.active = starts, "inactive"

    def __call__(self, argv: Sequence[str], timeout: float = 60, stdin: Optional[str] = None) -> Completed:
        if argv[0] == "journalctl":
            return Completed(0, '{"message": "the metrics cannot be written", "error": "[Errno 28] ..."}\n', "")
        if argv[1] == "show":
            pid = os.getpid() if self.active == "active" else 0
            return Completed(0, f"ActiveState={self.active}\nSubState=running\nMainPID={pid}\n", "")
        self.asked.append(argv[1])
        if argv[1] == "restart":
            self.active = "active" if self.starts else "failed"
            return Completed(0 if self.starts else 1, "", "Job failed\n")
        if argv[1] == "stop":
            self.active = "inactive"
        return Completed(0, "", "")


def carry_out(
    daemon: NodeDaemon, wanted: Optional[DaemonRequest], root: Path, systemd: Systemd, check: bool
) -> Dict[str, Any]:
    """What comes of it on a running machine."""
    return converge.carry_out(daemon, live(root), wanted, check, systemd)


def kinds(result: Dict[str, Any]) -> List[str]:
    return [f"{each['kind']} {os.path.basename(each['name'])} {each['after']}" for each in result["changes"]]


def complaints(name: str, text: str, directory: Path) -> List[str]:
    """What the real systemd says of a unit, whose program has to be there."""
    path = directory / name
    path.write_text(text)
    argv = ["systemd-analyze", "verify", "--man=no", str(path)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, encoding="utf-8")
    return [line for line in done.stdout.splitlines() if name in line]
