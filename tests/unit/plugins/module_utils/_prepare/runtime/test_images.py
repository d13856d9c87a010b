# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Images from archives, with what a containerd really sent (tests/unit/fixtures/runtime)."""

from __future__ import annotations

import base64
import contextlib
import json
import platform
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.ledger import storage
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Completed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime import images
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.base.interface import RuntimeLayout
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.image_options import ImageRequest

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "runtime"
ANSWERS = {
    name: base64.b64decode(text)
    for name, text in json.loads((FIXTURES / "cri-images-2.4.2.json").read_text(encoding="utf-8")).items()
}
NAME = "registry.k8s.io/networking/dranet:v1.4.0"
ID = "sha256:4c4d0e66d3a4aa06b97b7a84b9247dece5457b3bbb49c6e41a12a65f0244c1ec"
OTHER = "sha256:" + "0" * 64
ABSENT, ABSENT_CHECKED = ImageRequest("", {}), ImageRequest("", {}, check=True)
LEDGER = "var/lib/zerocopy-rdma/images/ledger.json"


class Tools:
    """Keeps what was to be run, and says that it worked or did not."""

    def __init__(self, failure: str = "") -> None:
        self.ran: List[List[str]] = []
        self._failure = failure

    def __call__(self, argv: Any, timeout: float = 60, stdin: Any = None) -> Completed:
        self.ran.append(list(argv))
        return Completed(1 if self._failure else 0, "", self._failure)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Callable[..., str]) -> Callable[..., Tuple[Any, Any]]:
    """Its files and its runtime, which gives the recorded answers of these names in turn."""
    (tmp_path / "root/var/lib").mkdir(parents=True)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")

    def make(*answers: str, runtime: str = "containerd") -> Tuple[Files, RuntimeLayout]:
        layout = RuntimeLayout(runtime, f"{runtime}.service", "", "", "", served(*map(ANSWERS.get, answers)), ())
        monkeypatch.setattr(images, "layout_of", lambda files, runtime: layout)
        return Files(str(tmp_path / "root")), layout

    return make


def request(**own: Any) -> ImageRequest:
    options: Dict[str, Any] = {"name": NAME, "identities": {"amd64": ID}, "archive": "/tmp/image.tar", **own}
    return ImageRequest(**options)


def test_imported_once_and_taken_away(node: Callable[..., Tuple[Files, RuntimeLayout]], tmp_path: Path) -> None:
    change = {"kind": "image", "name": NAME, "before": None, "after": ID}
    tools = Tools()
    for predicting in ({"archive": ""}, {"check": True}):
        predicted = images.converge(request(**predicting), node("missing")[0], tools)
        assert (predicted["changed"], predicted["changes"], tools.ran) == (True, [change], [])

    files, layout = node("missing", "missing", "missing", "known")
    done = images.converge(request(), files, tools)
    assert done == predicted
    assert tools.ran == [["ctr", "-a", layout.socket, "-n", "k8s.io", "images", "import", "/tmp/image.tar"]]
    again = images.converge(request(), node("known")[0], tools)
    assert (again["changed"], again["id"], len(tools.ran)) == (False, ID, 1)

    files, layout = node("known")
    predicted = images.converge(ABSENT_CHECKED, files)
    assert predicted["changes"] == [{"kind": "image", "name": NAME, "before": ID, "after": None}]
    files, layout = node("known", "removed")
    assert images.converge(ABSENT, files) == predicted
    assert not (tmp_path / "root" / LEDGER).exists()
    assert images.converge(ABSENT, files)["changed"] is False


def test_an_image_of_somebody_else_stays(node: Callable[..., Tuple[Files, RuntimeLayout]], tmp_path: Path) -> None:
    # It was there under another name.
    images.converge(request(), node("missing", "known", "known")[0], Tools())
    assert not (tmp_path / "root" / LEDGER).exists()
    # It got another name since.
    images.converge(request(), node("missing", "missing", "known")[0], Tools())
    files, _layout = node("renamed")
    left = images.converge(ABSENT, files)
    assert (left["changed"], left["warnings"]) == (
        False,
        [f"{NAME} has been given other names (localhost/mine:1), so it is not removed"],
    )
    # It was replaced or removed since.
    for answer, identity in (("known", OTHER), ("missing", ID)):
        path = tmp_path / "root" / LEDGER
        path.parent.mkdir(parents=True)
        path.write_text(
            json.dumps({"format": 1, "files": {}, "directories": [], "notes": {"images": {NAME: identity}}})
        )
        files, _layout = node(answer)
        assert images.converge(ABSENT, files)["changed"] is False
        assert not path.exists()


def test_what_another_run_removed_while_this_one_waited_is_left_alone(
    node: Callable[..., Tuple[Files, RuntimeLayout]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images.converge(request(), node("missing", "missing", "known")[0], Tools())
    path = tmp_path / "root" / LEDGER

    @contextlib.contextmanager
    def exclusive(_files: Files, _directory: str) -> Iterator[None]:
        path.unlink()
        yield

    monkeypatch.setattr(storage, "exclusive", exclusive)
    assert images.converge(ABSENT, node()[0])["changed"] is False


def test_notes_of_another_form_are_refused(node: Callable[..., Tuple[Files, RuntimeLayout]], tmp_path: Path) -> None:
    path = tmp_path / "root" / LEDGER
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"format": 1, "files": {}, "directories": [], "notes": {"images": {NAME: 7}}}))
    with pytest.raises(HostError, match="is damaged"):
        images.converge(ABSENT, node()[0])


@pytest.mark.parametrize(
    ("answers", "own", "layout", "said"),
    [
        ((), {"identities": {"arm64": ID, "s390x": ID}}, {}, "available for arm64 and s390x, but this node is amd64"),
        (
            ("missing",),
            {},
            {"runtime": "crio"},
            f"{NAME} is missing on this node, and CRI-O cannot",
        ),
        (
            ("known",),
            {"identities": {"amd64": OTHER}},
            {"runtime": "crio"},
            f"{NAME} is a different image on this",
        ),
        (("missing", "missing", "missing"), {}, {}, f"{NAME} cannot be imported: ctr: unexpected EOF"),
    ],
)
def test_what_cannot_be(
    node: Callable[..., Tuple[Files, RuntimeLayout]], answers: Any, own: Any, layout: Any, said: str
) -> None:
    with pytest.raises(HostError) as refused:
        images.converge(request(**own), node(*answers, **layout)[0], Tools("ctr: unexpected EOF"))
    assert said in str(refused.value)


def test_an_image_that_comes_after_a_failed_import_is_somebody_elses(
    node: Callable[..., Tuple[Files, RuntimeLayout]], tmp_path: Path
) -> None:
    def fail(*answers: str) -> None:
        with pytest.raises(HostError, match="cannot be imported"):
            images.converge(request(), node(*answers)[0], Tools("ctr: no space left on device"))

    fail("missing", "missing", "missing")
    assert not (tmp_path / "root" / LEDGER).exists()
    images.converge(request(), node("known")[0], Tools())
    assert images.converge(ABSENT, node("known")[0])["changed"] is False
    # An older one that was imported under this name is still ours.
    path = tmp_path / "root" / LEDGER
    path.parent.mkdir(parents=True)
    notes = {"images": {NAME: OTHER}}
    path.write_text(json.dumps({"format": 1, "files": {}, "directories": [], "notes": notes}))
    fail("missing", "missing", "missing")
    assert json.loads(path.read_text())["notes"] == notes
    # The tool was interrupted when all was done.
    fail("missing", "missing", "known")
    assert json.loads(path.read_text())["notes"] == {"images": {NAME: ID}}


def test_what_the_runtime_makes_of_an_archive_is_looked_at(
    node: Callable[..., Tuple[Files, RuntimeLayout]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "_DEADLINE", 0.0)
    for answer, said in (("known", f"the runtime has {ID} under this name"), ("missing", "the runtime does not know")):
        with pytest.raises(HostError, match=said):
            images.converge(request(identities={"amd64": OTHER}), node("missing", "missing", answer)[0], Tools())


def test_a_runtime_that_is_to_be_left_alone_keeps_its_images(
    node: Callable[..., Tuple[Files, RuntimeLayout]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = images.layout_of
    files, _layout = node("missing", "missing", "known")
    images.converge(request(), files, Tools())
    monkeypatch.setattr(images, "layout_of", real)
    left = images.converge(ImageRequest("", {}, runtime="none"), files)
    assert left["warnings"] == [f"{NAME} is not removed: rdma_runtime_flavour is none"]
    assert not (tmp_path / "root/var/lib/zerocopy-rdma").exists()


def test_a_runtime_that_is_gone_does_not_keep_the_node(
    node: Callable[..., Tuple[Files, RuntimeLayout]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, _layout = node("missing", "missing", "known")
    images.converge(request(), files, Tools())

    def gone(files: Files, runtime: str) -> RuntimeLayout:
        raise HostError("runtime: no container runtime found")

    monkeypatch.setattr(images, "layout_of", gone)
    for wanted in (ABSENT_CHECKED, ABSENT):
        assert (tmp_path / "root" / LEDGER).exists()
        left = images.converge(wanted, files)
        assert (left["changes"], left["warnings"]) == (
            [],
            [f"{NAME} is not removed: runtime: no container runtime found"],
        )
    assert not (tmp_path / "root/var/lib/zerocopy-rdma").exists()
