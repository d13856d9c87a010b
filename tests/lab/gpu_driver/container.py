# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs containers of a pod as the kubelet and containerd would, as far as DRA drivers need it.

Each has the image's files, its volumes, and mount and PID namespaces of its own. The node is a directory, from which
the containers have ``/sys`` and their hostPaths, so that it can be one that was recorded elsewhere. The network is that
of the machine, and so is ``/dev`` unless it is said to be another directory. Needs root.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmlab.progress import run

Object = Mapping[str, Any]
_LIBRARY = re.compile(r"(/\S+) \(0x")
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_REFERENCE = re.compile(r"\$\(([A-Z_]+)\)")


def with_libraries(paths: Mapping[str, Path]) -> dict[str, bytes]:
    """What an image has at these paths, with the libraries of this machine that the programs need."""
    every = dict(paths)
    for library in sorted(set(_LIBRARY.findall(run(["ldd", *map(str, paths.values())])))):
        every[library.lstrip("/")] = Path(library)
    return {path: source.read_bytes() for path, source in every.items()}


def unpack(image: Mapping[str, bytes], root: Path) -> Path:
    """Make a directory of the files of an image."""
    for path, content in image.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(0o755)
    for path in ("dev", "proc", "sys", "tmp", "root"):
        (root / path).mkdir(exist_ok=True)
    return root


class Containers:
    """``pod`` is one that has a node. ``account`` is a directory with its token and the certificate of the API server.

    ``image`` is a directory with its files (:func:`unpack`), which containers have as hard links, since none writes to
    them. Everything is written below ``directory``; logs are ``<container>.log`` there.
    """

    def __init__(
        self, directory: Path, image: Path, node: Path, pod: Object, account: Path, dev: Path = Path("/dev")
    ) -> None:
        self.directory, self._image, self._node, self._pod, self._account = directory, image, node, pod, account
        self._dev = dev

    def start(self, name: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a container, be it an init container; the kernel ends it with this process."""
        spec = self._pod["spec"]
        container = next(one for one in [*spec.get("initContainers", []), *spec["containers"]] if one["name"] == name)
        root = self.directory / name
        shutil.copytree(self._image, root, copy_function=os.link)
        told = {**self._environment(container), **environment}
        argv = [_expanded(word, told) for word in [*container["command"], *container.get("args", [])]]
        mounts = [f"mount --rbind {shlex.quote(str(source))} .{path}" for path, source in self._mounts(container)]
        script = [
            "set -e",
            "mount --make-rprivate /",
            f"cd {shlex.quote(str(root))}",
            f"mount --rbind {shlex.quote(str(self._node / 'sys'))} sys",
            f"mount --rbind {shlex.quote(str(self._dev))} dev",
            "mount -t proc proc proc",
            *mounts,
            shlex.join(["exec", "chroot", ".", "/usr/bin/env", "-i", *(f"{k}={v}" for k, v in told.items()), *argv]),
        ]
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        with (self.directory / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *namespaces, "sh", "-c", "\n".join(script)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def log(self, name: str) -> str:
        """What a container has said so far."""
        return (self.directory / f"{name}.log").read_text(errors="replace")

    def _mounts(self, container: Object) -> list[tuple[str, Path]]:
        """Where each volume is in the container, and here."""
        volumes = {volume["name"]: volume for volume in self._pod["spec"]["volumes"]}
        found = []
        for mount in container["volumeMounts"]:
            path = mount["mountPath"]
            source = self._account if path == _ACCOUNT else self._host_path(volumes[mount["name"]])
            (self.directory / container["name"] / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
            found.append((path, source))
        return found

    def _host_path(self, volume: Object) -> Path:
        path = self._node / str(volume["hostPath"]["path"]).lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        return path

    def _environment(self, container: Object) -> dict[str, str]:
        found = {"PATH": _PATH}
        for variable in container.get("env", []):
            value = variable.get("value", "")
            if "valueFrom" in variable:
                value = self._field(variable["valueFrom"]["fieldRef"]["fieldPath"])
            found[variable["name"]] = value
        return found

    def _field(self, path: str) -> str:
        found: Any = self._pod
        for part in path.split("."):
            found = found[part]
        return str(found)


def _expanded(word: str, environment: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: environment.get(match[1], match[0]), word)
