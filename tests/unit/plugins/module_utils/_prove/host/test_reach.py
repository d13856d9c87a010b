# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Whether packets get through, from what ping says, and whether addresses are used twice, on a wire of two ends."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node import command
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import arp, ping
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host.ping import PathProbe, PingResult

TEXTS = Path(__file__).resolve().parents[4] / "fixtures" / "ping"
PROBE = PathProbe("rail0", "10.7.0.1", "10.7.0.2", 9000)


def test_a_ping_that_cannot_be_started_says_nothing_of_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_arguments: Any, **_options: Any) -> Any:
        raise HostError("ping: no answer within 60 s")

    monkeypatch.setattr(command, "run", run)
    assert ping.ping(PROBE, 56) == PingResult(complaint="ping: no answer within 60 s", usable=False)


def said(name: str, status: int) -> PingResult:
    return ping.parse((TEXTS / f"{name}.txt").read_text("utf-8"), status)


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("whole", 0, PingResult(2, 2)),
        ("whole6", 0, PingResult(2, 2)),
        ("nobody", 1, PingResult(2, 0)),
        ("own-small-mtu", 1, PingResult(2, 0, 1500, "local error: message too long, mtu=1500")),
        ("peer-small-mtu", 1, PingResult(2, 0, None, "sendmsg: No buffer space available")),
        ("router-small-mtu", 1, PingResult(2, 0, 1500, "Frag needed and DF set (mtu = 1500)")),
        ("not-own-address", 2, PingResult(0, 0, None, "bind: Cannot assign requested address")),
        ("bad-option", 2, PingResult(0, 0, None, "invalid option -- '-'", usable=False)),
    ],
)
def test_what_ping_says(name: str, status: int, expected: PingResult) -> None:
    assert said(name, status) == expected


@pytest.mark.parametrize(("netdev", "options"), [(None, []), ("ens1np0", ["-I", "ens1np0"])])
def test_how_ping_is_called(monkeypatch: pytest.MonkeyPatch, netdev: Any, options: List[str]) -> None:
    called: List[List[str]] = []

    def run(argv: List[str]) -> Any:
        called.append(argv)
        raise HostError("not here")

    monkeypatch.setattr(command, "run", run)
    ping.ping(PathProbe("x", "10.7.0.1", "10.7.1.2", 9000, netdev), 8972)
    common = ["ping", "-n", "-c", "2", "-i", "0.2", "-W", "2", "-M", "do", "-s", "8972"]
    assert called == [[*common, *options, "-I", "10.7.0.1", "10.7.1.2"]]


def test_ping_that_says_nothing() -> None:
    assert ping.parse("", 1) == PingResult(complaint="exit status 1")


@pytest.mark.parametrize(("target", "payload"), [("10.7.0.2", 8972), ("fd07::2", 8952)])
def test_a_packet_has_the_size_of_the_mtu(target: str, payload: int) -> None:
    assert ping.payload_of(PathProbe("x", "", target, 9000)) == payload


def probed(answers: Dict[int, PingResult]) -> Dict[str, Any]:
    return ping.probe_one(PROBE, lambda _probe, payload: answers[payload])


def test_a_wrong_mtu_is_told_from_a_missing_path() -> None:
    large = said("own-small-mtu", 1)
    result = probed({8972: large, 56: said("whole", 0)})
    assert (result["reached"], result["whole"], result["mtu_named"]) == (True, False, 1500)
    result = probed({8972: large, 56: said("nobody", 1)})
    assert (result["reached"], result["whole"]) == (False, False)


def test_what_gets_through_needs_no_second_try() -> None:
    result = probed({8972: PingResult(2, 1)})
    assert (result["whole"], result["lost"]) == (True, 1)


MAC, OTHER = b"\x02\0\0\0\0\x01", b"\x02\0\0\0\0\x02"


def reply(sender: bytes, address: bytes) -> bytes:
    return arp._FRAME.pack(MAC, sender, 0x0806, 1, 0x0800, 6, 4, 2, sender, address, MAC, b"\0" * 4)


def test_who_claims_an_address() -> None:
    own = frozenset([MAC])
    assert arp.claimant(reply(OTHER, b"\x0a\x07\0\x01"), "10.7.0.1", own) == OTHER
    assert arp.claimant(reply(OTHER, b"\x0a\x07\0\x02"), "10.7.0.1", own) is None
    assert arp.claimant(reply(MAC, b"\x0a\x07\0\x01"), "10.7.0.1", own) is None
    # Somebody who is about to take the address, and the node itself doing so.
    assert arp.claimant(arp.probe_frame(OTHER, "10.7.0.1"), "10.7.0.1", own) == OTHER
    assert arp.claimant(arp.probe_frame(MAC, "10.7.0.1"), "10.7.0.1", own) is None
    assert arp.claimant(b"\0" * 20, "10.7.0.1", own) is None


class Storm:
    """A wire on which a frame is there whenever one is looked for, a millisecond after the last one."""

    def __init__(self) -> None:
        self.now, self.frames, self.sent = 0.0, 0, 0

    def __enter__(self) -> Storm:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def bind(self, _address: object) -> None:
        pass

    def getsockname(self) -> List[Any]:
        return ["near", 0x0806, 0, 1, MAC]

    def send(self, _frame: bytes) -> None:
        self.sent += 1

    def recv(self, _most: int) -> bytes:
        self.now, self.frames = self.now + 0.001, self.frames + 1
        assert self.frames < 2_000, "the probe does not end"
        return reply(OTHER, b"\x0a\x07\0\x01") if self.frames == 500 else b"\xff" * 64


def test_a_probe_ends_while_frames_keep_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    storm = Storm()
    monkeypatch.setattr(socket, "socket", lambda *_arguments: storm)
    monkeypatch.setattr(arp, "select", SimpleNamespace(select=lambda *_arguments: ([storm], [], [])))
    monkeypatch.setattr(arp, "time", SimpleNamespace(monotonic=lambda: storm.now))
    assert arp._probe("near", ["10.7.0.1", "10.7.0.3"], frozenset([MAC])) == {"10.7.0.1": OTHER}
    assert (storm.sent, round(storm.now, 1)) == (6, 0.9)


# Two network namespaces with one wire between them; both go when their processes end.
WIRE = """\
set -e
unshare --net sh -c 'ip link set lo up; echo ready; read line' <&3 >$DIR/other &
other=$!
while ! grep -qs ready $DIR/other; do sleep 0.01; done
ip link add near type veth peer name far
ip link set far netns $other
ip address add 10.7.0.1/24 dev near
ip address add 10.7.0.3/24 dev near
ip link set near up
for address in 10.7.0.1 10.7.0.2; do nsenter --target $other --net ip address add $address/24 dev far; done
nsenter --target $other --net ip link set far up
while [ "$(cat /sys/class/net/near/carrier)" != 1 ]; do sleep 0.01; done
"$PYTHON" -c "$SCRIPT"
"""
SCRIPT = """\
import json, sys
sys.path[:0] = {path!r}
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import arp
own = [arp.LocalAddress("near", "10.7.0.1"), arp.LocalAddress("near", "10.7.0.3"), arp.LocalAddress("gone", "10.7.0.4")]
print(json.dumps(arp.probe_all(own)))
"""


def test_on_a_wire_the_other_station_is_found(tmp_path: Path) -> None:
    found = on_a_wire(tmp_path, WIRE, SCRIPT)
    assert [bool(result["other"]) for result in found] == [True, False, False]
    assert [bool(result["skipped"]) for result in found] == [False, False, True]


# Two hosts with a wire for each of two rails, which do not reach each other. Strict ARP, as prepare configures it.
RAILS = """\
set -e
unshare --net sh -c 'ip link set lo up; echo ready; read line' <&3 >$DIR/other &
other=$!
while ! grep -qs ready $DIR/other; do sleep 0.01; done
strict='cd /proc/sys/net/ipv4/conf/all && echo 1 >arp_ignore && echo 2 >arp_announce'
nsenter --target $other --net sh -c "$strict"
for rail in 0 1; do
    ip link add near$rail type veth peer name far$rail
    ip link set far$rail netns $other
    ip address add 10.7.$rail.1/24 dev near$rail
    ip link set near$rail up
    nsenter --target $other --net ip address add 10.7.$rail.2/24 dev far$rail
    nsenter --target $other --net ip link set far$rail up
done
while [ "$(cat /sys/class/net/near0/carrier /sys/class/net/near1/carrier | tr -d '\\n')" != 11 ]; do sleep 0.01; done
"$PYTHON" -c "$SCRIPT"
"""
PINGS = """\
import json, sys
sys.path[:0] = {path!r}
from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import ping
ways = [("10.7.0.2", "near0"), ("10.7.1.2", None), ("10.7.1.2", "near0")]
print(json.dumps(ping.probe_all([ping.PathProbe("", "10.7.0.1", target, 1500, netdev) for target, netdev in ways])))
"""


def test_only_the_netdev_says_over_which_rail_a_ping_goes(tmp_path: Path) -> None:
    found = on_a_wire(tmp_path, RAILS, PINGS, "ping")
    assert [result["usable"] for result in found] == [True, True, True]
    # The second one is answered by way of the other rail, whatever its source is.
    assert [result["whole"] for result in found] == [True, True, False]


def on_a_wire(tmp_path: Path, wire: str, script: str, *tools: str) -> List[Dict[str, Any]]:
    """What a script prints in one of two network namespaces that are connected so."""
    missing = [name for name in ("unshare", "nsenter", "ip", *tools) if shutil.which(name, path=_path()) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"needs root{''.join(' and ' + name for name in missing)}")
    if subprocess.run(["unshare", "--net", "--mount", "true"], env={"PATH": _path()}, check=False).returncode:
        pytest.skip("needs leave to make network namespaces")
    read, write = os.pipe()
    environment = {
        **os.environ,
        "PATH": _path(),
        "DIR": str(tmp_path),
        "PYTHON": sys.executable,
        "SCRIPT": script.format(path=sys.path),
    }
    # sysfs shows the network namespace in which it was mounted.
    argv = ["unshare", "--net", "--mount", "sh", "-c", f"exec 3<&0; mount -t sysfs none /sys; {wire}"]
    try:
        done = subprocess.run(argv, env=environment, stdin=read, stdout=subprocess.PIPE, timeout=60, check=False)
    finally:
        os.close(write)
        os.close(read)
    assert done.returncode == 0
    found: List[Dict[str, Any]] = json.loads(done.stdout)
    return found


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
