# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What is planned for containerd, by its own understanding of the files."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files, Stored
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import registry
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import Installation
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.keys import RuntimePlan
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.containerd import oci_spec
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.registry import RUNTIMES
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import edit
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.memlock import UNLIMITED
from ansible_collections.zerocopy.rdma.tests.unit.plugins.module_utils._prepare.runtime.runtimes import (
    FIXTURES,
    SPEC,
    Containerd,
)

PARTS: Dict[str, Dict[str, Any]] = {
    "nri": {"request_timeout": "90s", "registration_timeout": "30s", "validator": "auto"},
    "memlock": {"limit": UNLIMITED, "handlers": []},
}
CRI_2, CRI_3 = '[plugins."io.containerd.grpc.v1.cri"{}]\n', "[plugins.'io.containerd.cri.v1.runtime'{}]\n"
NRI = "[plugins.'io.containerd.nri.v1.nri']\n"


def runtimes(cri: str) -> str:
    return (
        cri.format(".containerd.runtimes.runc")
        + 'runtime_type = "io.containerd.runc.v2"\n'
        + cri.format(".containerd.runtimes.runc.options")
        + "SystemdCgroup = true\n"
        + cri.format(".containerd.runtimes.own")
        + 'runtime_type = "io.containerd.runc.v2"\n  base_runtime_spec = "/own.json"  # mine\n'
    )


FILES: Dict[str, Dict[str, str]] = {
    "absent": {},
    "kubernetes": {"config.toml": "version = 2\n" + CRI_2.format("") + "enable_selinux = true\n" + runtimes(CRI_2)},
    "nri": {"config.toml": "version = 2\n" + NRI + "disable = true\nsocket_path = '/own.sock'"},
    "closed": {"config.toml": "version = 2\n" + NRI + "disable = false\n  disable_connections = true  # mine\n"},
    "version 3": {"config.toml": "version = 3\n" + runtimes(CRI_3) + NRI + "disable = true\n"},
    "drop-ins": {
        "config.toml": 'version = 2\nimports = [\n  "conf.d/*.toml",  # these\n]\n',
        "conf.d/99-own.toml": "version = 2\n" + runtimes(CRI_2) + NRI + 'plugin_request_timeout = "3s"\n',
    },
    "nested": {
        "config.toml": 'version = 2\nimports = ["own/a.toml"]\n',
        "own/a.toml": 'version = 2\nimports = ["b.toml"]\n',
        "own/b.toml": "version = 2\n" + NRI + "disable = true\n",
    },
}

Make = Callable[..., RuntimePlan]


class Node:
    """A root directory with a containerd of the given version."""

    def __init__(self, root: Path, version: str, files: Dict[str, str]) -> None:
        self.root, self.original = root, files
        self.containerd = Containerd(version)
        self.containerd.root = str(root)
        for name, text in {**files, "own.json": SPEC}.items():
            path = root / ("own.json" if name == "own.json" else f"etc/containerd/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        self.files = Files(str(root))
        self.layout = registry.detect(self.files, "containerd")

    def make(self, parts: Dict[str, Any], written: List[str]) -> RuntimePlan:
        own = {path: self.original.get(path[len("/etc/containerd/") :]) for path in written}
        files = Files(str(self.root))
        files.live = True
        # Paths are still below the root.
        files.full = self.files.full  # type: ignore[method-assign]  # for this test
        installed = Installation(files, self.layout, "containerd", self.containerd)
        return RUNTIMES["containerd"].plan(installed, parts, own)

    def install(self, plan: RuntimePlan) -> List[str]:
        for file in plan.wanted:
            assert file.content is not None
            self.files.write(file.path, Stored(file.content.encode(), 0o644, 0, 0))
        return [file.path for file in plan.wanted]


@pytest.mark.parametrize("version", ["1.7.24", "2.1.9", "2.4.2"])
def test_exactly_our_keys_come_into_effect(version: str, tmp_path: Path) -> None:
    for name, files in FILES.items():
        # 1.7 does not read version 3.
        if name != "version 3" or version != "1.7.24":
            _there_and_back(Node(tmp_path / name, version, files), version)


def _there_and_back(node: Node, version: str) -> None:
    plan = node.make(PARTS, [])
    # That nothing else changed is what the plan made sure of: a wrong plan raises.
    effective = plan.effective
    assert effective.nri_enabled
    assert effective.get("nri", ("plugin_request_timeout",)) == "90s"
    assert effective.get("cri", ("enable_cdi",)) is (None if version == "2.4.2" else True)
    assert effective.get("nri", ("default_validator", "enable")) is (True if version == "2.4.2" else None)
    specs = {handler: table["base_runtime_spec"] for handler, table in effective.handlers.items()}
    assert specs.pop("own", "/etc/containerd/zerocopy-rdma-base-spec-own.json").endswith("-own.json")
    assert specs == {"runc": "/etc/containerd/zerocopy-rdma-base-spec.json"}
    assert plan.differs
    written = node.install(plan)
    again = node.make(PARTS, written)
    assert not again.differs
    assert [file.path for file in again.wanted if node.files.text(file.path) != file.content] == []
    # Taking everything back gives each file of the user its own text, byte for byte.
    back = node.make({}, written)
    assert back.differs
    for file in back.wanted:
        assert file.release
        assert file.content == node.original.get(file.path[len("/etc/containerd/") :])


@pytest.mark.parametrize("version", ["1.7.24", "2.1.9"])
def test_a_rewritten_configuration_is_asked_about_and_given_back(version: str, tmp_path: Path) -> None:
    node = Node(tmp_path, version, FILES["kubernetes"])
    before = node.containerd.dump(f"{tmp_path}/etc/containerd/config.toml")
    written = node.install(node.make(PARTS, []))
    main = tmp_path / "etc/containerd/config.toml"
    # As a program does that reads TOML and writes it again.
    rewritten = "\n".join(line.partition("  # zerocopy.rdma")[0] for line in main.read_text().split("\n"))
    main.write_text(rewritten)
    again = node.make(PARTS, written)
    assert (again.effective.nri_enabled, again.handlers) == (True, ["own", "runc"])
    back = node.make({}, written)
    assert ("zerocopy" in rewritten) is any("was rewritten by another program" in text for text in back.warnings)
    node.install(back)
    for path in written:
        if path not in {file.path for file in back.wanted}:
            node.files.remove(path)
    after = node.containerd.dump(f"{tmp_path}/etc/containerd/config.toml")
    # CDI is what we cannot tell from a user's setting.
    for dump in (before, after):
        dump["plugins"].get("io.containerd.grpc.v1.cri", {}).pop("enable_cdi", None)
    assert after == before


def test_parts_do_not_take_from_each_other(tmp_path: Path) -> None:
    for version, part in itertools.product(["1.7.24", "2.1.9"], ["nri", "memlock"]):
        node = Node(tmp_path / version / part, version, FILES["kubernetes"])
        alone = node.make({part: PARTS[part]}, []).effective
        both = node.make(PARTS, node.install(node.make({part: PARTS[part]}, [])))
        for section, path in (("nri", ("disable",)), ("cri", ("enable_cdi",))):
            assert part == "memlock" or both.effective.get(section, path) == alone.get(section, path)
        assert part == "nri" or both.effective.handlers == alone.handlers


def test_the_base_specification(tmp_path: Path) -> None:
    node = Node(tmp_path, "2.1.9", FILES["version 3"])
    (tmp_path / "own.json").write_text(
        json.dumps({"process": {"rlimits": [{"type": "RLIMIT_CORE", "hard": 1, "soft": 0}]}, "hooks": {"x": []}})
    )
    specs = {file.path: json.loads(file.content or "") for file in node.make(PARTS, []).wanted if "spec" in file.path}
    limit = {"type": "RLIMIT_MEMLOCK", "hard": 18446744073709551615, "soft": 18446744073709551615}
    derived = specs["/etc/containerd/zerocopy-rdma-base-spec.json"]
    # 1024 open files are in `ctr oci spec`, but not in a container that the CRI makes without a base specification.
    assert derived["process"]["rlimits"] == [limit]
    recorded = json.loads(SPEC)
    assert derived["mounts"] == recorded["mounts"]
    assert derived["linux"] == recorded["linux"]
    theirs = specs["/etc/containerd/zerocopy-rdma-base-spec-own.json"]
    assert theirs["process"]["rlimits"] == [{"type": "RLIMIT_CORE", "hard": 1, "soft": 0}, limit]
    assert theirs["hooks"] == {"x": []}
    assert oci_spec.default() == recorded


def test_refused(tmp_path: Path) -> None:
    rows = [
        ("2.1.9", "version = 2\n[plugins\n", r"containerd rejects its present .* line 2: a header ends"),
        ("2.1.9", "version = 2\nimports = ['/etc/gone.toml']\n", r"rejects its present .* /etc/gone\.toml"),
        ("2.1.9", "[plugins.cri]\n", r"configuration version 1, but 2 or later is required"),
        ("2.1.9", "disabled_plugins = ['cri']\n", r"disabled_plugins has 'cri', as in Docker's package"),
        ("2.1.9", "version = 2\ndisabled_plugins = ['io.containerd.grpc.v1.cri']\n", r"disables the CRI"),
        ("1.7.24", "version = 2\nplugins.'io.containerd.nri.v1.nri'.disable = true\n", r"as a table with a header"),
        (
            "2.1.9",
            "version = 2\n" + CRI_2.format(".containerd.runtimes.x") + "base_runtime_spec = '/no'\n",
            r"names /no",
        ),
    ]
    for number, (version, text, said) in enumerate(rows):
        node = Node(tmp_path / str(number), version, {"config.toml": text})
        with pytest.raises(HostError, match=said):
            node.make(PARTS, [])


def test_what_containerd_understands_otherwise_is_refused(tmp_path: Path) -> None:
    class Deaf(Containerd):
        """Loses the cgroup driver as soon as NRI is configured, as 1.7 would if the whole section were replaced."""

        def dump(self, main: str) -> Dict[str, Any]:
            result: Dict[str, Any] = super().dump(main)
            if result["plugins"]["io.containerd.nri.v1.nri"]["plugin_request_timeout"] == "90s":
                result["plugins"]["io.containerd.cri.v1.runtime"]["enable_selinux"] = "lost"
            return result

    node = Node(tmp_path, "2.1.9", FILES["kubernetes"])
    node.containerd = Deaf("2.1.9")
    with pytest.raises(
        HostError, match=r"nothing is changed: plugins\.io\.containerd\.cri\S*enable_selinux would be 'lost'"
    ):
        node.make(PARTS, [])


def test_a_refusal_shows_no_credentials(tmp_path: Path) -> None:
    class Careless(Containerd):
        """Has another password for a registry as soon as NRI is configured."""

        def dump(self, main: str) -> Dict[str, Any]:
            result: Dict[str, Any] = super().dump(main)
            configured = result["plugins"]["io.containerd.nri.v1.nri"]["plugin_request_timeout"] == "90s"
            auth = {"password": "secret-new" if configured else "secret-old"}
            result["plugins"]["io.containerd.cri.v1.images"] = {"registry": {"configs": {"r": {"auth": auth}}}}
            return result

    node = Node(tmp_path, "2.1.9", FILES["kubernetes"])
    node.containerd = Careless("2.1.9")
    with pytest.raises(HostError, match=r"auth\S* would be 'REDACTED' instead of 'REDACTED'") as caught:
        node.make(PARTS, [])
    assert "secret" not in str(caught.value)


def test_what_this_containerd_cannot(tmp_path: Path) -> None:
    node = Node(tmp_path, "2.1.9", FILES["absent"])
    for parts, said in [
        ({"nri": {**PARTS["nri"], "validator": "true"}}, "validator: this containerd has no default validator"),
        ({"memlock": {**PARTS["memlock"], "handlers": ["kata"]}}, "no handler kata; available: runc"),
    ]:
        with pytest.raises(HostError, match=said):
            node.make(parts, [])


def test_the_users_own_settings_are_enough(tmp_path: Path) -> None:
    text = "version = 2\n" + NRI + 'plugin_request_timeout = "1m30s"\nplugin_registration_timeout = "30s"\n'
    plan = Node(tmp_path, "2.1.9", {"config.toml": text}).make({"nri": PARTS["nri"]}, [])
    assert plan.wanted == []
    assert not plan.differs


@pytest.mark.parametrize("version", ["1.7.24", "2.1.9"])
def test_a_longer_timeout_is_kept(tmp_path: Path, version: str) -> None:
    text = (FIXTURES / "cases/containerd-timeout-300s.toml").read_text()
    node = Node(tmp_path, version, {"config.toml": text})
    plan = node.make({"nri": PARTS["nri"]}, [])
    nri = {name: plan.effective.get("nri", (f"plugin_{name}_timeout",)) for name in ("request", "registration")}
    assert nri == {"request": "300s", "registration": "30s"}
    assert [line for file in plan.wanted for line in (file.content or "").split("\n") if "90s" in line] == []
    written = node.install(plan)
    assert not node.make({"nri": PARTS["nri"]}, written).differs
    back = node.make({}, written)
    assert [file.content for file in back.wanted if file.path.endswith("/config.toml")] in ([text], [])


_IMPORTS = 'version = {}\nimports = ["/etc/containerd/conf.d/*.toml"]\n'


@pytest.mark.parametrize(("version", "of_file"), [("1.7.24", 2), ("2.1.9", 2), ("2.1.9", 3), ("2.4.2", 4)])
@pytest.mark.parametrize("longer", ["300s", "5m", "1h30m", "300000ms", "1.5h"])
def test_a_longer_timeout_is_kept_wherever_it_is(tmp_path: Path, version: str, of_file: int, longer: str) -> None:
    """In the main file or in a drop-in before or after ours, and in any form."""
    own = f'{NRI}plugin_request_timeout = "{longer}"\n'
    for name in ("config.toml", "conf.d/10-own.toml", "conf.d/99-own.toml"):
        files = {"config.toml": _IMPORTS.format(of_file)}
        files[name] = files.get(name, f"version = {of_file}\n") + own
        node = Node(tmp_path / name, version, files)
        plan = node.make({"nri": PARTS["nri"]}, [])
        assert plan.effective.get("nri", ("plugin_request_timeout",)) == longer
        assert plan.effective.get("nri", ("plugin_registration_timeout",)) == "30s"
        assert not node.make({"nri": PARTS["nri"]}, node.install(plan)).differs


PLAIN = {"config.toml": "version = 2\n" + CRI_2.format("") + '  sandbox_image = "pause:3.10"\n'}
HEADER = CRI_2.format(".containerd.runtimes.runc").replace("\n", "  # zerocopy.rdma\n")
OPTIONS = CRI_2.format(".containerd.runtimes.runc.options") + "  SystemdCgroup = true\n"
ADDED = [
    pytest.param("", OPTIONS, id="table"),
    pytest.param("  privileged_without_host_devices = true\n", "", id="key"),
    pytest.param("  privileged_without_host_devices = true\n", OPTIONS, id="both"),
]


def _with_additions(node: Node, below: str, end: str) -> List[str]:
    written = node.install(node.make(PARTS, []))
    main = node.root / "etc/containerd/config.toml"
    assert HEADER in main.read_text()
    main.write_text(main.read_text().replace(HEADER, HEADER + below) + end)
    return written


@pytest.mark.parametrize(("below", "end"), ADDED)
def test_a_handler_of_ours_to_which_others_have_added_stays_one(tmp_path: Path, below: str, end: str) -> None:
    """containerd 1.7 forgets the defaults of a handler that a file names, so it could start no pod any more."""
    node = Node(tmp_path, "1.7.24", PLAIN)
    written = _with_additions(node, below, end)
    main = tmp_path / "etc/containerd/config.toml"
    plan = node.make(PARTS, written)
    assert not plan.differs
    node.install(plan)
    again = node.make(PARTS, written)
    assert [file.path for file in again.wanted if node.files.text(file.path) != file.content] == []
    table = {key: value for key, value in plan.effective.handlers["runc"].items() if value}
    assert table.pop("base_runtime_spec") == "/etc/containerd/zerocopy-rdma-base-spec.json"
    assert (table["runtime_type"], len(table) > 2) == ("io.containerd.runc.v2", True)
    back = node.make({}, written)
    node.install(back)
    assert {key: value for key, value in back.effective.handlers["runc"].items() if value} == table
    assert "zerocopy" not in main.read_text()


@pytest.mark.parametrize(("below", "end"), ADDED)
def test_what_others_need_is_not_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str, end: str
) -> None:
    node = Node(tmp_path, "1.7.24", PLAIN)
    written = _with_additions(node, below, end)
    monkeypatch.setattr(edit, "_shared", lambda text, ours, named, copied: set())
    lost = "privileged_without_host_devices = True" if below else r"runtime_type = 'io\.containerd\.runc\.v2'"
    said = f"would lose settings that are not of this collection, so nothing is changed: .*{lost}"
    with pytest.raises(HostError, match=said):
        node.make(PARTS, written)


KATA = "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.kata]\nruntime_type = \"io.containerd.kata.v2\"\n"


@pytest.mark.parametrize("imports", ["", 'imports = ["/etc/containerd/site.toml"]\n'])
def test_an_import_that_others_add_to_our_line_stays(tmp_path: Path, imports: str) -> None:
    kata, site = "/etc/containerd/kata.toml", "/etc/containerd/site.toml"
    node = Node(
        tmp_path,
        "2.1.9",
        {"config.toml": f"version = 3\n{imports}", kata[16:]: f"version = 3\n{KATA}", site[16:]: "version = 3\n"},
    )
    written = node.install(node.make(PARTS, []))
    main = tmp_path / "etc/containerd/config.toml"
    main.write_text(main.read_text().replace('.toml"]  # zerocopy', f'.toml", "{kata}"]  # zerocopy'))
    plan = node.make(PARTS, written)
    assert "kata" in plan.effective.handlers
    node.install(plan)
    again = node.make(PARTS, written)
    assert [file.path for file in again.wanted if node.files.text(file.path) != file.content] == []
    back = {file.path: file.content for file in node.make({}, written).wanted}
    expected = [site, kata] if imports else [kata]
    assert back["/etc/containerd/config.toml"] == f"version = 3\nimports = {json.dumps(expected)}\n"
