# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""The image of the role rdma_benchmark as an archive, made of what its Containerfile names, without a registry.

The Debian, its packages and the wheels with their versions are read from that file. pip is not in the image: the one of
this Python puts the wheels there.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shlex
import shutil
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from guest import container_image
from vmlab import cache, image
from vmlab.paths import LOGS
from vmlab.progress import LabError, run, step

CONTAINERFILE = Path(__file__).resolve().parents[3] / "roles/rdma_benchmark/files/Containerfile"
NAME = "localhost/rdma-benchmark:lab"
# Of the Containerfile, but not of the image.
_TOOL = "python3-pip"
# The slim ones of Debian's images, and what they do without.
BASE = re.compile(r"docker\.io/library/debian:([a-z]+)-slim")
SLIM = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")]
# What wheels of these versions are built for, and Debian is newer than.
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64")


@dataclass(frozen=True)
class Recipe:
    """What the Containerfile asks for; ``removed`` are patterns of paths that it deletes."""

    suite: str
    packages: Sequence[str]
    wheels: Sequence[str]
    removed: Sequence[str]


def recipe(text: str) -> Recipe:
    """Read a Containerfile. Raises LabError where it is of another form than this lab can follow."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    words = [shlex.split(line) for line in "\n".join(lines).replace("\\\n", " ").splitlines() if line.strip()]
    base = [line[1] for line in words if line[0] == "FROM"]
    suite = BASE.fullmatch(base[0]) if len(base) == 1 else None
    commands = [command for line in words if line[0] == "RUN" for command in _commands(line[1:])]
    packages = _arguments(commands, "apt-get", "install")
    wheels = _arguments(commands, "pip", "install")
    others = [line[0] for line in words if line[0] not in ("FROM", "RUN", "ENTRYPOINT")]
    if not suite or others or _TOOL not in packages or not all("==" in wheel for wheel in wheels):
        raise LabError(f"{CONTAINERFILE} is of another form than {Path(__file__).name} can follow")
    packages.remove(_TOOL)
    return Recipe(suite[1], packages, wheels, _arguments(commands, "rm"))


def _commands(words: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in words:
        if word == "&&":
            found.append([])
        else:
            found[-1].append(word)
    return found


def _arguments(commands: Sequence[Sequence[str]], *start: str) -> list[str]:
    mine = [command[len(start) :] for command in commands if tuple(command[: len(start)]) == start]
    return [word for command in mine for word in command if not word.startswith("-")]


def archive() -> Path:
    """Return the archive with the image, which takes two minutes to make."""
    wanted = recipe(CONTAINERFILE.read_text())

    def build(scratch: Path) -> None:
        root = scratch / "root"
        with step(f"image {NAME}: Debian {wanted.suite} with {', '.join(wanted.packages)} (mmdebstrap)"):
            image.bootstrap(wanted.suite, root, wanted.packages, LOGS / "benchmark-image.log", *SLIM)
        with step(f"image {NAME}: {', '.join(wanted.wheels)} (pip)"):
            _install(root, wanted.wheels)
        for path in (found for pattern in wanted.removed for found in root.glob(pattern.lstrip("/"))):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        with step(f"image {NAME}: archive"):
            container_image.archive(scratch / "image.tar", [NAME], layer(root), ["python3"])
        shutil.rmtree(root)

    sources = [CONTAINERFILE, Path(__file__), Path(container_image.__file__)]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    return cache.entry(f"image-benchmark-{digest.hexdigest()[:12]}", build) / "image.tar"


def _install(root: Path, wheels: Sequence[str]) -> None:
    """Put wheels where Debian's pip would, and compile them, since each pod would do it again."""
    python = next(root.glob("usr/lib/python3.*")).name
    target = f"usr/local/lib/{python}/dist-packages"
    options = [option for platform in _PLATFORMS for option in ("--platform", platform)]
    options += ["--python-version", python[len("python") :], "--only-binary=:all:", "--no-compile"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    run([*pip, *options, "--target", str(root / target), *wheels])
    run(["chroot", str(root), "python3", "-m", "compileall", "-q", f"/{target}"])


def layer(root: Path) -> bytes:
    """The file system as a tar archive. Devices and what else is mounted come from the runtime."""

    def kept(entry: tarfile.TarInfo) -> Optional[tarfile.TarInfo]:
        return None if entry.isdev() else entry

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as out:
        for name in sorted(os.listdir(root)):
            out.add(root / name, arcname=name, filter=kept)
    return buffer.getvalue()
