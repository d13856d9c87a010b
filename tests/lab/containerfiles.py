# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Builds each Containerfile of the roles as users do, and runs in its image what pods run there: ``make images``.

No registry is needed: the image that a Containerfile starts from is made of Debian's packages and gets the name after
FROM. Packages and wheels come from where this machine gets them: the build has ``http_proxy``, the machine's own CA
certificates, and its ``/etc/pip.conf``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster import benchmark_image
from guest import container_image
from vmlab import cache, image
from vmlab.paths import LOGS
from vmlab.progress import LabError, run, step

CHECKOUT = Path(__file__).resolve().parents[2]
WORK = CHECKOUT / "build/images"
SCRATCH = WORK / "scratch"
OF_THE_MACHINE = ("/usr/local/share/ca-certificates", "/etc/pip.conf")
# Where buildah remembers layers and networks, whatever it is told.
_ELSEWHERE = (Path("/var/lib/containers/cache"), Path("/run/containers/networks"))
# Newer ones would raise these limits, which root of a container may not.
_SETTINGS = f"""
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
helper_binaries_dir = ["{SCRATCH}"]
[network]
network_config_dir = "{SCRATCH}/networks"
"""

# `none` is no device: ib_write_bw looks for it when it has understood all its options.
_VERIFY = (CHECKOUT / "roles/rdma_verify/files/probe.sh").read_text("utf-8") + "measure none 1 18515 '' ''; exit 0\n"
# With the libibverbs of the system, as for NICs other than mlx5. TCP needs no NIC.
_BENCHMARK = """
ls -d /usr/local/lib/python3*/dist-packages/nixl_ep_* 2>/dev/null && exit 1
python3 -c 'import ctypes; ctypes.CDLL("libibverbs.so.1")' || exit 1
export LD_PRELOAD=libibverbs.so.1 UCX_TLS=tcp ZEROCOPY_RDMA=off
port=$(python3 -c 'import socket; print(socket.create_server(("", 0)).getsockname()[1])')
set -- --port="$port" --operations=READ,WRITE --sizes=1048576 --iterations=3 --warmup=1 --timeout=60
cd /roles
benchmark() { exec /bin/sh rdma_workloads/files/rdma-env.sh python3 rdma_benchmark/files/kv_benchmark.py "$@"; }
(benchmark target "$@") &
(benchmark initiator --peer 127.0.0.1 "$@") || { kill $! 2>/dev/null; exit 1; }
wait $!
"""
_MISSING = """
for name; do command -v "$name" >/dev/null || echo "$name"; done
set -- /usr/lib/*/libibverbs/libmlx5-rdmav*.so
[ -e "$1" ] || echo 'the providers of libibverbs'
"""


@dataclass(frozen=True)
class Trial:
    """A script for the image of a role with the programs that it runs, and patterns of what it says if all is well."""

    role: str
    programs: tuple[str, ...]
    script: str
    says: tuple[str, ...]

    @property
    def containerfile(self) -> Path:
        return CHECKOUT / "roles" / self.role / "files/Containerfile"

    @property
    def base(self) -> str:
        """The image that the Containerfile starts from."""
        found = re.findall(r"^FROM (\S+)$", self.containerfile.read_text("utf-8"), re.MULTILINE)
        return str(found[0])


TRIALS = (
    Trial(
        "rdma_verify",
        ("ip", "taskset", "timeout", "ib_write_bw", "ibv_devices"),
        _VERIFY,
        (r"^==> addresses\n1: lo ", r"^==> end$", r"Unable to find the Infiniband/RoCE device"),
    ),
    Trial(
        "rdma_benchmark",
        ("python3",),
        _BENCHMARK,
        (r'^RESULT .*"READ".*"verified": true', r'^RESULT .*"WRITE".*"verified": true'),
    ),
)


def check() -> None:
    """Stop where the machine lacks something, with a message that says what."""
    # Debian's packages have the same names.
    missing = [command for command in ("buildah", "mmdebstrap") if not shutil.which(command)]
    if missing:
        packages = " ".join(missing)
        raise LabError(f"not installed: {packages} (apt-get install --no-install-recommends {packages})")
    if os.geteuid() != 0:
        raise LabError("root is needed: the build changes its root directory")


def base_archive(name: str) -> Path:
    """Return an archive of the image that Debian has under this name, made of the same packages."""
    suite = benchmark_image.BASE.fullmatch(name)
    if not suite:
        raise LabError(f"{name} cannot be made of packages: only slim images of Debian can")

    def build(scratch: Path) -> None:
        with step(f"{name} (mmdebstrap)"):
            image.bootstrap(suite[1], scratch / "root", [], LOGS / "image-base.log", *benchmark_image.SLIM)
            content = benchmark_image.layer(scratch / "root")
            container_image.archive(scratch / "image.tar", [name], content, ["bash"])
            shutil.rmtree(scratch / "root")

    sources = [Path(module.__file__ or "") for module in (benchmark_image, container_image, image)]
    digest = hashlib.sha256(b"".join([name.encode(), *(source.read_bytes() for source in sources)]))
    return cache.entry(f"image-base-{digest.hexdigest()[:12]}", build) / "image.tar"


def pull(name: str) -> None:
    """Let buildah know the image that Debian has under this name."""
    number = buildah("pull", "--quiet", f"oci-archive:{base_archive(name)}").strip()
    buildah("tag", number, name)


def buildah(*argv: str, log: str = "") -> str:
    """Run buildah on images of our own; with ``log`` its output goes there and is returned."""
    # What it has started ends with it, also when it is interrupted.
    ending = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    own = ["--root", str(SCRATCH / "storage"), "--runroot", str(SCRATCH / "run"), "--storage-driver=vfs"]
    path = CHECKOUT / "build/log" / log if log else None
    said = run([*ending, "buildah", *own, *argv], log=path)
    return path.read_text(errors="replace") if path else said


@contextlib.contextmanager
def private() -> Iterator[None]:
    """A directory for buildah, of which nothing is left in the end, nor of what it has elsewhere."""
    new = [path for path in _ELSEWHERE if not path.exists()]
    shutil.rmtree(SCRATCH, ignore_errors=True)
    (SCRATCH / "tmp").mkdir(parents=True)
    settings = SCRATCH / "containers.conf"
    settings.write_text(_SETTINGS)
    # Newer ones do not start without it. It is never called: the containers have the network of the machine.
    (SCRATCH / "netavark").symlink_to("/bin/true")
    os.environ.update(TMPDIR=str(SCRATCH / "tmp"), CONTAINERS_CONF=str(settings), BUILDAH_ISOLATION="chroot")
    try:
        yield
    finally:
        for path in new:
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError):
                path.parent.rmdir()
        # After an interrupt something may still be ending; the next run removes what that leaves.
        shutil.rmtree(SCRATCH, ignore_errors=True)


def attempt(trial: Trial) -> None:
    """Build the image and run the trial in it."""
    with step(f"{trial.role}: build"):
        volumes = [f"--volume={path}:{path}:ro" for path in OF_THE_MACHINE if os.path.exists(path)]
        where = str(trial.containerfile.parent)
        buildah("build", "--pull=never", f"--tag={trial.role}", *volumes, where, log=f"image-{trial.role}.log")
    with step(f"{trial.role}: run"):
        buildah("from", "--pull=never", f"--name={trial.role}", f"localhost/{trial.role}")
        shell = ["run", f"--volume={CHECKOUT}/roles:/roles:ro", trial.role, "--", "/bin/sh", "-c"]
        missing = buildah(*shell, _MISSING, "sh", *trial.programs).splitlines()
        if missing:
            raise LabError(f"the image of {trial.containerfile} lacks {', '.join(missing)}")
        said = buildah(*shell, trial.script, log=f"image-{trial.role}-run.log")
        unsaid = [pattern for pattern in trial.says if not re.search(pattern, said, re.MULTILINE)]
        if unsaid:
            raise LabError(f"{said}\nin the image of {trial.containerfile} the script did not say {', '.join(unsaid)}")


def main() -> int:
    """Try all; a failure is one message, not a traceback."""
    try:
        check()
        with cache.locked(WORK), private():
            for name in sorted({trial.base for trial in TRIALS}):
                pull(name)
            for trial in TRIALS:
                attempt(trial)
    except LabError as error:
        print(f"containerfiles.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
