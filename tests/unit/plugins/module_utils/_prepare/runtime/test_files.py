# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Nodes below a root directory: every runtime's files, killed runs, and the way back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import options as runtime_options
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base import ownership
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.converge import converge
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.options import RuntimeOutcome

K3S = "var/lib/rancher/k3s/agent/etc/containerd"
RKE2 = "var/lib/rancher/rke2/agent/etc/containerd"
RUNC_2 = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]\n  runtime_type = "io.containerd.runc.v2"\n'
RUNC_3 = (
    "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n"
)
OWN_2 = RUNC_2.replace("runc]", "own]")

NODES: Dict[str, Dict[str, str]] = {
    "containerd 1.7": {"etc/containerd/config.toml": f"version = 2\n{RUNC_2}"},
    "containerd 2": {"etc/containerd/config.toml": f"version = 3\nimports = ['conf.d/*.toml']\n{RUNC_3}"},
    "no configuration": {"usr/bin/containerd": ""},
    "k3s": {f"{K3S}/config.toml": f'version = 3\nimports = ["/{K3S}/config-v3.toml.d/*.toml"]\n{RUNC_3}'},
    "old k3s": {
        f"{K3S}/config.toml": f"version = 2\n{RUNC_2}{OWN_2}",
        f"{K3S}/config.toml.tmpl": '{{ template "base" . }}\n' + OWN_2,
    },
    "rke2": {f"{RKE2}/config.toml": f"version = 3\n{RUNC_3}"},
    "crio": {"etc/crio/crio.conf.d/10-crio.conf": '[crio.runtime]\ndefault_ulimits = ["nofile=1:1", "memlock=9:9"]\n'},
}
# Where NRI's timeout and the handler's limit of memory are to be found.
PLACES: Dict[str, Tuple[str, str]] = {
    "containerd 1.7": ("etc/containerd/conf.d/90-zerocopy-rdma-nri.toml", "etc/containerd/config.toml"),
    "containerd 2": (
        "etc/containerd/conf.d/90-zerocopy-rdma-nri.toml",
        "etc/containerd/conf.d/90-zerocopy-rdma-memlock.toml",
    ),
    "no configuration": ("etc/containerd/conf.d/90-zerocopy-rdma-nri.toml", "etc/containerd/config.toml"),
    "k3s": (
        f"{K3S}/config-v3.toml.d/90-zerocopy-rdma-nri.toml",
        f"{K3S}/config-v3.toml.d/90-zerocopy-rdma-memlock.toml",
    ),
    "old k3s": (f"{K3S}/config.toml.tmpl", f"{K3S}/config.toml.tmpl"),
    "rke2": (f"{RKE2}/config-v3.toml.tmpl", ""),
    "crio": ("etc/crio/crio.conf.d/90-zerocopy-rdma-nri.conf", "etc/crio/crio.conf.d/90-zerocopy-rdma-memlock.conf"),
}


class Killed(BaseException):
    """What SIGKILL is to the code: nothing after it runs."""


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def make(root: Path, files: Dict[str, str]) -> str:
    (root / "var/lib").mkdir(parents=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o640)
    return str(root)


def tree(root: str) -> Dict[str, Any]:
    found = {}
    for path in sorted(Path(root).rglob("*")):
        found[str(path.relative_to(root))] = (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
    return found


def call(root: str, check: bool = False, **options: Any) -> RuntimeOutcome:
    params = {name: spec.get("default") for name, spec in runtime_options.ARGUMENTS.items()}
    request = runtime_options.request({**params, "request_timeout": "45s", **options}, check)
    return converge(request, Files(root))


def test_predicted_done_once_and_taken_back(tmp_path: Path) -> None:
    for name in NODES:
        _there_and_back(name, tmp_path / name)


def _there_and_back(name: str, tmp_path: Path) -> None:
    root = make(tmp_path, NODES[name])
    original = tree(root)
    states = []
    for limit in ("", "unlimited"):
        before = tree(root)
        predicted = call(root, check=True, memlock=limit)
        assert tree(root) == before
        done = call(root, memlock=limit)
        assert done.changes == predicted.changes != []
        assert {change.kind for change in done.changes} == {"file"}
        assert call(root, memlock=limit).changes == []
        states.append(tree(root))
    nri, memlock = PLACES[name]
    assert '"45s"' in (tmp_path / nri).read_text()
    assert not memlock or "base_runtime_spec" in (tmp_path / memlock).read_text() or "crio" in memlock
    predicted = call(root, check=True, memlock="")
    assert call(root, memlock="").changes == predicted.changes != []
    assert _config(tree(root)) == _config(states[0])
    predicted = call(root, check=True, state="absent")
    assert call(root, state="absent").changes == predicted.changes != []
    assert tree(root) == original
    assert call(root, state="absent").changes == []


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_killed_run_is_completed_and_can_be_taken_back(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("containerd 1.7", "containerd 2", "old k3s", "crio"):
        _killed_anywhere(name, state, tmp_path / name, monkeypatch)


def _die_after(survived: int, patch: pytest.MonkeyPatch) -> None:
    """Let so many files be written or removed, and no more."""
    left = [survived]
    for method in ("write", "remove"):
        real = getattr(Files, method)

        def act(self: Files, *arguments: Any, real: Any = real) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            real(self, *arguments)

        patch.setattr(Files, method, act)


def _killed_anywhere(name: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make(tmp_path / "whole", NODES[name])
    original = tree(whole)
    call(whole, memlock="")
    call(whole)
    wanted = tree(whole) if state == "present" else original
    for survived in range(40):
        root = make(tmp_path / str(survived), NODES[name])
        call(root, memlock="")
        if state == "absent":
            call(root)
        with monkeypatch.context() as patch:
            _die_after(survived, patch)
            try:
                call(root, state=state)
            except Killed:
                pass
            else:
                return
        call(root, state=state)
        assert _config(tree(root)) == _config(wanted)
        call(root, state="absent")
        assert tree(root) == original
    raise AssertionError("never ran to its end")


def _config(found: Dict[str, Any]) -> Dict[str, Any]:
    return {path: kept for path, kept in found.items() if "ledger" not in path}


def test_what_an_administrator_changes_meanwhile_stays(tmp_path: Path) -> None:
    root = make(tmp_path, NODES["containerd 1.7"])
    main = tmp_path / "etc/containerd/config.toml"
    call(root)
    main.write_text("# mine\n" + main.read_text().replace('"io.containerd.runc.v2"', '"io.containerd.kata.v2"'))
    assert call(root).changes == []
    call(root, state="absent")
    assert main.read_text() == ("# mine\n" + NODES["containerd 1.7"]["etc/containerd/config.toml"]).replace(
        "runc.v2", "kata.v2"
    )
    assert not (tmp_path / "var/lib/zerocopy-rdma").exists()


def test_another_limit_and_other_handlers(tmp_path: Path) -> None:
    root = make(tmp_path, {"etc/containerd/config.toml": "version = 2\n" + RUNC_2 + OWN_2})
    call(root, memlock_handlers=["own"])
    main = tmp_path / "etc/containerd/config.toml"
    assert main.read_text().count("base_runtime_spec") == 1
    outcome = call(root, memlock="1048576")
    assert outcome.facts["handlers"] == ["own", "runc"]
    assert main.read_text().count("base_runtime_spec") == 2
    assert '"hard": 1048576' in (tmp_path / "etc/containerd/zerocopy-rdma-base-spec.json").read_text()
    unit = tmp_path / "etc/systemd/system/containerd.service.d/90-zerocopy-rdma-memlock.conf"
    assert "\nLimitMEMLOCK=1048576\n" in unit.read_text()


def test_the_limit_of_a_unit_is_raised_only(tmp_path: Path) -> None:
    root = make(tmp_path, {**NODES["containerd 2"], "lib/systemd/system/containerd.service": "[Service]\n"})
    unit = "etc/systemd/system/containerd.service.d"
    wanted, more = "68719476736", str(65 * 2**30)
    rows: List[Tuple[str, str, str]] = [
        # Less, and what systemd takes for nothing.
        ("etc/systemd/system.conf", "[Manager]\n#DefaultLimitMEMLOCK=infinity\nDefaultLimitMEMLOCK=8M\n", wanted),
        ("usr/lib/systemd/system.conf.d/10-hpc.conf", "[Manager]\nDefaultLimitMEMLOCK=65G:infinity\n", more),
        ("lib/systemd/system/containerd.service", "[Service]\nLimitMEMLOCK = 1T\n", str(2**40)),
        (f"usr/lib/{unit[4:]}/10.conf", "[Service]\nLimitMEMLOCK=infinity\nLimitMEMLOCK=\n", "infinity"),
        # The same name in /etc hides it.
        (f"{unit}/10.conf", "[Service]\nLimitMEMLOCK=65G\n", more),
        (f"{unit}/20.conf", "[Service]\nLimitMEMLOCK=infinity\n", "infinity"),
    ]
    for path, text, limit in rows:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        assert call(root, memlock=wanted).warnings == []
        ours = (tmp_path / unit / "90-zerocopy-rdma-memlock.conf").read_text()
        assert ours.endswith(f"[Service]\nLimitMEMLOCK={limit}\n"), path
    (tmp_path / unit / "old.conf").mkdir()
    # As 'systemctl edit' names it.
    edited = tmp_path / unit / "override.conf"
    edited.write_text("[Service]\nLimitMEMLOCK=64G\n")
    assert call(root, memlock=wanted).warnings == []
    edited.write_text("[Service]\nLimitMEMLOCK=65536\n")
    for _time in range(2):
        (warning,) = call(root, memlock=wanted).warnings
        assert f"/{unit}/override.conf is read after " in warning
        assert "sets LimitMEMLOCK=65536: containers without a limit of their own" in warning


def test_crio_keeps_the_other_limits(tmp_path: Path) -> None:
    root = make(tmp_path, NODES["crio"])
    call(root)
    text = (tmp_path / PLACES["crio"][1]).read_text()
    assert text.endswith('\n[crio.runtime]\ndefault_ulimits = ["nofile=1:1", "memlock=-1:-1"]\n')
    (tmp_path / "etc/crio/crio.conf.d/99-mine").write_text('[crio.nri]\nnri_plugin_request_timeout = "2s"\n')
    with pytest.raises(
        HostError, match=r'99-mine is read after \S+ and sets crio\.nri\.nri_plugin_request_timeout to "2s"'
    ):
        call(root)


def test_crio_reads_hidden_drop_ins_and_those_in_directories(tmp_path: Path) -> None:
    below = "etc/crio/crio.conf.d/10-site/limits"
    limits = '[crio.runtime]\ndefault_ulimits = ["nofile={0}:{0}"]\n'
    root = make(tmp_path, {below: limits.format(1), "etc/crio/crio.conf.d/20-site/none": ""})
    call(root)
    ours = tmp_path / PLACES["crio"][1]
    assert '["nofile=1:1", "memlock=-1:-1"]' in ours.read_text()
    (tmp_path / below).write_text(limits.format(2))
    call(root)
    assert '["nofile=2:2", "memlock=-1:-1"]' in ours.read_text()
    # After the first one, before ours.
    (tmp_path / "etc/crio/crio.conf.d/20-site/.new.conf").write_text(limits.format(3))
    call(root)
    assert '["nofile=3:3", "memlock=-1:-1"]' in ours.read_text()
    (tmp_path / "etc/crio/crio.conf.d/95").mkdir()
    (tmp_path / "etc/crio/crio.conf.d/95/x").write_text(limits.format(4))
    with pytest.raises(HostError, match=r"95/x is read after \S+ and sets crio\.runtime\.default_ulimits"):
        call(root)


def test_crio_with_enough_memory_keeps_its_limits_as_they_are(tmp_path: Path) -> None:
    text = '[crio.runtime]\ndefault_ulimits = ["memlock={}", "nofile=1:1"]\n'
    theirs, ours = "etc/crio/crio.conf.d/99-site.conf", tmp_path / PLACES["crio"][1]
    root = make(tmp_path, {theirs: text.format("-1")})
    for enough in ("-1", "-1:-1", "68719476736", "68719476736:-1"):
        (tmp_path / theirs).write_text(text.format(enough))
        call(root, memlock="68719476736")
        assert not ours.exists()
    for less in ("68719476735:-1", "0"):
        (tmp_path / theirs).write_text(text.format(less))
        with pytest.raises(HostError, match=r"99-site\.conf is read after \S+ and sets crio\.runtime\.default_ulimits"):
            call(root, memlock="68719476736")


def test_refused_before_anything_is_written(tmp_path: Path) -> None:
    rows: List[Tuple[Dict[str, str], Dict[str, Any], str]] = [
        ({"etc/hostname": ""}, {}, "runtime: no container runtime found .* set rdma_runtime_flavour to"),
        ({**NODES["k3s"], **NODES["crio"]}, {}, "runtime: this node has k3s and crio: set rdma_runtime_flavour to"),
        (
            {"etc/rancher/k3s/config.yaml": ""},
            {"runtime": "k3s"},
            r"config\.toml does not exist: start k3s\.service once",
        ),
        (NODES["crio"], {"validator": "true"}, "default validator is not supported with CRI-O"),
        (NODES["crio"], {"request_timeout": "30"}, "request_timeout is '30', it must be a duration"),
        (
            NODES["crio"],
            {"registration_timeout": "500ms"},
            "registration_timeout is '500ms', it must be a duration with its unit, like 30s or 1m30s, from 1s",
        ),
    ]
    for number, (files, options, said) in enumerate(rows):
        root = make(tmp_path / str(number), files)
        before = tree(root)
        with pytest.raises(HostError, match=said):
            call(root, **options)
        assert tree(root) == before


def test_limits_that_are_none(tmp_path: Path) -> None:
    for value in ("64k", "-1", "8192", " ", "18446744073709551615"):
        with pytest.raises(HostError, match=f"memlock is {value!r}, it must be unlimited or a number of bytes"):
            call(str(tmp_path), memlock=value)


def test_two_first_runs_at_once_say_nothing_untrue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run writes our files while this one plans: they are nobody else's to remove."""
    root = make(tmp_path, NODES["containerd 2"])
    real = ownership.refuse_foreign
    began: List[str] = []

    def late(files: Files, *arguments: Any) -> None:
        if not began:
            began.append(root)
            call(root, request_timeout="90s")
        real(files, *arguments)

    monkeypatch.setattr(ownership, "refuse_foreign", late)
    assert [change.name for change in call(root, check=True).changes] == [f"/{PLACES['containerd 2'][0]}"]


@pytest.mark.parametrize(
    "unit", ["multi-user.target.wants/cri-docker.service", "sockets.target.wants/cri-docker.socket"]
)
def test_cri_dockerd_has_no_nri(tmp_path: Path, unit: str) -> None:
    root = make(tmp_path, {**NODES["containerd 2"], f"etc/systemd/system/{unit}": ""})
    before = tree(root)
    with pytest.raises(HostError, match=r"cri-dockerd runs the pods of this node, and Docker has no NRI"):
        call(root)
    assert tree(root) == before
    # Somebody knows better; and what was changed once can always go.
    call(root, runtime="containerd")
    call(root, state="absent")
    assert tree(root) == before


CONTINUED = "[Service]\nLimitMEMLOCK= \\\n# between\n  infinity\nEnvironment=A=1 \\\nLimitMEMLOCK=8M\n"


def test_a_limit_on_a_continued_line(tmp_path: Path) -> None:
    """The first one is a setting, the second one none; without it the unit would get less than it had."""
    theirs = "etc/systemd/system/containerd.service.d/10-theirs.conf"
    root = make(tmp_path, {**NODES["containerd 2"], theirs: CONTINUED})
    call(root, memlock="65536")
    own = tmp_path / "etc/systemd/system/containerd.service.d/90-zerocopy-rdma-memlock.conf"
    assert "LimitMEMLOCK=infinity\n" in own.read_text()


def test_a_fifo_where_systemd_looks_is_passed_over(tmp_path: Path) -> None:
    root = make(tmp_path, NODES["containerd 2"])
    directory = tmp_path / "etc/systemd/system/containerd.service.d"
    directory.mkdir(parents=True)
    os.mkfifo(directory / "50-pipe.conf")
    call(root)
    assert call(root).changes == []
    call(root, state="absent")
    assert [path.name for path in directory.iterdir()] == ["50-pipe.conf"]
