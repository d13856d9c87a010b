# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""A machine of namespaces: Debian's files below an overlay, D-Bus, udev, a real NetworkManager, and veths as NICs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from vmlab import cache, image
from vmlab.paths import LOGS
from vmlab.progress import step

_HERE = Path(__file__).resolve().parent
_CHECKOUT = _HERE.parents[1]
_PACKAGES = (
    *("network-manager", "dbus", "udev", "systemd", "iproute2", "python3"),
    # What a root that is only extracted gets neither from dependencies nor from scripts of packages.
    *("base-files", "coreutils", "dash", "grep", "mawk", "mount", "util-linux"),
)
_MERGED = 'for name in bin sbin lib lib64; do mkdir -p "$1/usr/$name"; ln -s "usr/$name" "$1/$name"; done'
# With another one (trixie), NetworkManager is another one.
_SUITE = os.environ.get("ZEROCOPY_SUITE", "bookworm")
_LOG = "/run/NetworkManager.log"
# Far above what a slow machine needs: until then a test waits for what does not come.
_SECONDS = 300
# What NetworkManager and the library keep for themselves.
_OWN_STATE = ("var/lib/NetworkManager", "var/lib/dpkg", "var/lib/apt")

NICS = {"rail0": "b8:59:9f:00:00:10", "rail1": "b8:59:9f:00:00:11", "lan0": "b8:59:9f:00:00:20"}


def root() -> Path:
    """Debian's files, made once."""

    def build(scratch: Path) -> None:
        with step(f"root with NetworkManager: Debian {_SUITE} (mmdebstrap)"):
            log, hook = LOGS / f"network-manager-{_SUITE}.log", f"--setup-hook={_MERGED}"
            image.bootstrap(_SUITE, scratch / "root", _PACKAGES, log, hook, variant="extract")

    key = hashlib.sha256(repr((_PACKAGES, _MERGED)).encode()).hexdigest()[:12]
    return cache.entry(f"network-manager-{_SUITE}-{key}", build) / "root"


class Machine:
    """One that runs until ``close``."""

    def __init__(self) -> None:
        nics = [f"{name}={mac}" for name, mac in NICS.items()]
        namespaces = ["--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--propagation=private"]
        boot = [str(_HERE / "boot.sh"), str(root()), str(_CHECKOUT), *nics]
        self._unshare = subprocess.Popen(["unshare", *namespaces, *boot], stdin=subprocess.DEVNULL)
        self._manager: Optional[subprocess.Popen[bytes]] = None
        self.files = Path(f"/proc/{self._unshare.pid}/root")
        try:
            self._pid = self._await_first()
            self.files = Path(f"/proc/{self._pid}/root")
            self._await("D-Bus", (self.files / "run/dbus/system_bus_socket").exists)
            self._await("udev", (self.files / "run/udev/control").exists)
            self.run("udevadm trigger --action=add --subsystem-match=net && udevadm settle")
            self.start_manager()
        except BaseException:
            self.close()
            raise

    def _await_first(self) -> int:
        children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children")

        def chrooted() -> bool:
            found = children.read_text().split()
            return bool(found) and os.readlink(f"/proc/{found[0]}/root") != "/"

        self._await("machine", chrooted)
        return int(children.read_text().split()[0])

    def _await(self, what: str, condition: Any) -> None:
        deadline = time.monotonic() + _SECONDS
        while not condition():
            ended = self._manager is not None and self._manager.poll() is not None
            if ended or self._unshare.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{what} does not start: {self.log()[-2000:]}")
            time.sleep(0.02)

    def close(self) -> None:
        """End everything in it."""
        self._unshare.kill()
        self._unshare.wait()
        if self._manager:
            self._manager.wait()

    def _enter(self, *argv: str) -> List[str]:
        return ["nsenter", f"--target={self._pid}", "--all", "--root", "--wd", *argv]

    def run(self, command: str, check: bool = True) -> str:
        """Output of a shell command."""
        done = subprocess.run(
            self._enter("sh", "-c", command), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def start_manager(self) -> None:
        """Returns when NetworkManager has done what it does at first."""
        command = f"echo $$ >/run/nm.pid; exec NetworkManager --debug >>{_LOG} 2>&1"
        self._manager = subprocess.Popen(self._enter("sh", "-c", command), stdin=subprocess.DEVNULL)
        started = ["nmcli", "-t", "-f", "STARTUP", "general"]
        self._await("NetworkManager", lambda: self.run(" ".join(started), check=False).strip() == "started")

    def stop_manager(self, number: signal.Signals = signal.SIGTERM) -> None:
        """As an update or the kernel's OOM killer does."""
        assert self._manager
        self.run(f"kill -{int(number)} $(cat /run/nm.pid)")
        self._manager.wait(_SECONDS)

    def restart_manager(self) -> None:
        """Devices that are up stay so."""
        self.stop_manager()
        self.start_manager()

    def call(self, check: bool = False, **options: Any) -> Dict[str, Any]:
        """The module's result, also that of a failure."""
        argv = self._enter("unshare", "--mount", "--propagation=private", "/srv/machine/ports.sh")
        environment = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPYCACHEPREFIX": "/srv/pycache"}
        done = subprocess.run(
            [*argv, "python3", "/srv/machine/call.py"],
            input=json.dumps({"options": options, "check": check}),
            capture_output=True,
            text=True,
            env=environment,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode == -signal.SIGKILL:
            return {"killed": True}
        assert done.returncode == 0, done.stderr
        result: Dict[str, Any] = json.loads(done.stdout)
        return result

    def calls(self) -> List[str]:
        """Interface and method of the D-Bus calls since the last time that this was asked."""
        path = self.files / "run/calls"
        found = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    def kill(self, number: int, when: str, victim: str) -> None:
        """Let "module" or "manager" be killed "before" or "after" the call with this number, counted from 1."""
        self.calls()
        (self.files / "run/kill").write_text(f"{number} {when} {victim}\n")

    def recover(self) -> None:
        """Start NetworkManager again if it was killed."""
        (self.files / "run/kill").unlink(missing_ok=True)
        if self.run("kill -0 $(cat /run/nm.pid) 2>/dev/null && echo runs", check=False) != "runs\n":
            assert self._manager
            self._manager.wait(_SECONDS)
            self.start_manager()

    def links(self, *links: Dict[str, Any], **options: Any) -> Dict[str, Any]:
        """A call with these links, confirmed where it has to be."""
        result = self.call(links=list(links), **options)
        if "checkpoint" in result:
            confirmed = self.call(confirm=result["checkpoint"])
            assert not confirmed.get("failed"), confirmed
        return result

    def absent(self, **options: Any) -> Dict[str, Any]:
        """What teardown does."""
        return self.call(state="absent", **options)

    def active(self, netdev: str) -> Optional[str]:
        """The name of the connection that is active on it."""
        text = self.run(f"nmcli -t -f GENERAL.CONNECTION device show {netdev}", check=False)
        return text.partition(":")[2].strip() or None

    def await_device(self, netdev: str, state: str = "") -> None:
        """Until NetworkManager has done with it what it does by itself; ``state`` as nmcli has it."""

        def settled() -> bool:
            found = (
                self.run(f"nmcli -t -f DEVICE,STATE device | grep ^{netdev}:", check=False).strip().partition(":")[2]
            )
            return found.startswith(state) if state else bool(found) and "connecting" not in found

        self._await(netdev, settled)

    def rename(self, netdev: str, name: str) -> None:
        """Returns when NetworkManager has followed."""
        self.run(
            f"ip link set {netdev} down && ip link set {netdev} name {name} && ip link set {name} up && udevadm settle"
        )
        self.await_device(name)

    def admin(self, name: str, netdev: str, address: str, *more: str) -> None:
        """What an admin does: a profile of his own, and up with it."""
        self.run(
            f"nmcli connection add type ethernet con-name {name} ifname {netdev} ipv4.method manual "
            f"ipv4.addresses {address} ipv6.method link-local {' '.join(more)} && nmcli connection up {name}"
        )

    def addresses(self, netdev: str = "") -> List[str]:
        """Those of a netdev, or of all, once nobody is asked any more whether he has one of them."""
        self._await("an address", lambda: "tentative" not in self.run("ip addr"))
        shown = self.run(f"ip -o addr show {netdev}").splitlines()
        return sorted(re.sub(r"\\.*", "", line) for line in shown)

    def log(self) -> str:
        """What NetworkManager has said."""
        path = self.files / _LOG.lstrip("/")
        return path.read_text(errors="replace") if path.exists() else ""

    def state(self) -> Dict[str, Any]:
        """All that a run may change and ``absent`` has to put back."""
        fields = "NAME,UUID,TYPE,AUTOCONNECT,ACTIVE,DEVICE,STATE,FILENAME"
        sysctl = "cd /proc/sys/net && grep -r . ipv4/conf ipv6/conf 2>/dev/null | grep -v stable_secret"
        return {
            "files": dict(self._files()),
            "connections": sorted(self.run(f"nmcli -t -f {fields} connection show").splitlines()),
            "devices": sorted(self.run("nmcli -t -f DEVICE,STATE,CONNECTION device").splitlines()),
            "addresses": self.addresses(),
            "links": sorted(self.run("ip -o link show").splitlines()),
            "rules": self.run("ip rule; ip -6 rule").splitlines(),
            "routes": sorted(self.run("ip route show table all; ip -6 route show table all").splitlines()),
            "sysctl": sorted(self.run(sysctl).splitlines()),
        }

    def _files(self) -> List[Tuple[str, Tuple[str, int, int, bytes]]]:
        found = []
        for top in ("etc", "usr/lib/systemd", "usr/local", "var/lib", "run/NetworkManager/system-connections"):
            for directory, _names, names in os.walk(self.files / top):
                inside = os.path.relpath(directory, self.files)
                if inside.startswith(_OWN_STATE):
                    continue
                found.append((inside, ("directory", *_owner(directory), b"")))
                for path in (Path(directory, name) for name in names):
                    content = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
                    found.append((os.path.relpath(path, self.files), ("file", *_owner(path), content)))
        return found


def _owner(path: Any) -> Tuple[int, int]:
    status = os.lstat(path)
    return status.st_mode, status.st_uid * 100000 + status.st_gid
