# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest: container images without a registry, made of Debian's static busybox and the guest's RDMA tools.

    python3 container_image.py load                    what pods need, into the containerd that runs here
    python3 container_image.py archive FILE NAME ...   an OCI archive of the image under these names

``load`` imports the image as the sandbox image containerd is configured for, and as ``localhost/lab:latest``. Running
it again changes nothing. Prints "changed" when it did change something.

The lab imports this file as well, for images of single static programs.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any, Dict, List, Optional

import tomllib

BUSYBOX = Path("/usr/bin/busybox")
NAME = "localhost/lab:latest"
# The same under a name that examples of workloads take for vLLM's image.
VLLM_NAME = "localhost/vllm:lab"
# Stands in for vLLM there: a program that shows what it was started with, and stays.
VLLM = b"""#!/bin/sh
echo "vllm $*"
env
trap 'exit 0' TERM INT
while :; do sleep 2147483647 & wait $!; done
"""
# As Debian's own images have it.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DIRECTORIES = ("dev", "etc", "proc", "run", "sys", "tmp")
# What a pod is examined with, and the Soft-RoCE provider of libibverbs, which no program names as a library.
TOOLS = ("rdma", "ibv_devinfo", "ib_write_bw")
PROVIDER, PROVIDER_NAME = "/usr/lib/*/libibverbs/librxe-*.so", "/etc/libibverbs.d/rxe.driver"
# The first process of a PID namespace gets no default signal handlers: a plain sleep would ignore SIGTERM, and whoever
# stops the pod, or reboots the node, would wait for the kill after the grace period.
PAUSE = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait $!; done"]


def _member(path: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.type = kind
    entry.mode = mode
    return entry


def layer(files: Dict[str, bytes], links: Optional[Dict[str, str]] = None) -> bytes:
    """Return a file system of these files and links as a tar archive, the same for the same content."""
    buffer = io.BytesIO()
    above = {str(parent) for path in [*files, *(links or {})] for parent in PurePosixPath(path).parents}
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for directory in sorted({*DIRECTORIES, *above} - {"."}):
            archive.addfile(_member(directory, tarfile.DIRTYPE, 0o1777 if directory == "tmp" else 0o755))
        for path, content in sorted(files.items()):
            entry = _member(path, tarfile.REGTYPE, 0o755)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        for path, target in sorted((links or {}).items()):
            link = _member(path, tarfile.SYMTYPE, 0o777)
            link.linkname = target
            archive.addfile(link)
    return buffer.getvalue()


def of_guest() -> bytes:
    """Return the file system of the image for pods: busybox, the RDMA tools and all libraries they need."""
    applets = run(str(BUSYBOX), "--list").split()
    links = {f"bin/{applet}": "busybox" for applet in set(applets) - {"busybox"}}
    tools = [str(shutil.which(name)) for name in TOOLS]
    provider = glob.glob(PROVIDER)
    libraries = re.findall(r"(/\S+) \(0x", run("ldd", *tools, *provider))
    files = {path.lstrip("/"): Path(path).read_bytes() for path in [PROVIDER_NAME, *provider, *libraries]}
    files.update({f"bin/{Path(path).name}": Path(path).read_bytes() for path in (str(BUSYBOX), *tools)})
    files["bin/vllm"] = VLLM
    return layer(files, {path: target for path, target in links.items() if path not in files})


def archive(
    target: Path, names: List[str], content: bytes, command: List[str], entrypoint: Optional[List[str]] = None
) -> None:
    """Write an OCI image layout with one image of one layer under every name, as a tar archive.

    With an ``entrypoint`` a pod's args come after it; without one they replace the command.
    """
    blobs: Dict[str, bytes] = {}

    def add(kind: str, content: bytes) -> Dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        media_type = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    rootfs = add("layer.v1.tar", content)
    config = {
        "architecture": "amd64",
        "os": "linux",
        # One for each layer: buildah builds no stages upon an image that has fewer.
        "history": [{"created_by": "tests/lab"}],
        "config": {"Entrypoint": entrypoint, "Cmd": command, "Env": [f"PATH={PATH}"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [rootfs["digest"]]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": add("config.v1+json", json.dumps(config).encode()),
        "layers": [rootfs],
    }
    image = add("manifest.v1+json", json.dumps(manifest).encode())
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{**image, "annotations": {"io.containerd.image.name": name}} for name in names],
    }
    files = {**blobs, "oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": json.dumps(index).encode()}
    with tarfile.open(target, mode="w") as out:
        for path, content in files.items():
            entry = _member(path, tarfile.REGTYPE, 0o644)
            entry.size = len(content)
            out.addfile(entry, io.BytesIO(content))


def run(*argv: str) -> str:
    """Run a command that has to succeed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def sandbox_image() -> str:
    """Return the name of the image containerd starts every pod with, which moved between version 1 and 2."""
    dump = subprocess.run(["containerd", "config", "dump"], stdout=subprocess.PIPE, text=True, check=True).stdout
    plugins = tomllib.loads(dump)["plugins"]
    if "io.containerd.cri.v1.images" in plugins:
        return str(plugins["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"])
    return str(plugins["io.containerd.grpc.v1.cri"]["sandbox_image"])


def load() -> bool:
    """Import what is missing; containerd asks a registry only for images it does not have."""
    wanted = [sandbox_image(), NAME, VLLM_NAME]
    present = run("ctr", "--namespace", "k8s.io", "images", "list", "--quiet").split()
    if set(wanted) <= set(present):
        return False
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "image.tar")
        archive(target, wanted, of_guest(), PAUSE)
        run("ctr", "--namespace", "k8s.io", "images", "import", str(target))
    return True


def main() -> None:
    """Do what the command line asks for."""
    if sys.argv[1] == "archive":
        archive(Path(sys.argv[2]), sys.argv[3:], of_guest(), PAUSE)
    elif sys.argv[1] == "load":
        print("changed" if load() else "unchanged")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
