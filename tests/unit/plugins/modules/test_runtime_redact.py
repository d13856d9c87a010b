# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml import redact

CONFIG = """version = 2  # plain
[plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]
  username = "hidden-user"
  password = 'hidden-1'
  identitytoken = "hidden-2"
[plugins."io.containerd.grpc.v1.cri".registry.configs.other]
  auth = {username = "hidden-3", password = "hidden-4"}
[plugins."io.containerd.grpc.v1.cri".registry.headers]
  X-Any = [
    "hidden-5",
    "hidden-6",
  ]
[plugins.own]
  api_key = \"\"\"
hidden-7
\"\"\"
  endpoint = "https://user:hidden-8@plain.example/"
  nested = [{token = "hidden-9"}]
  environment = ["REGISTRY_TOKEN=hidden-10", "PLAIN=1"]
[[proxies]]
  password = "hidden-11"
  plain = 1
"""


def test_credentials_are_taken_out_and_nothing_else() -> None:
    hidden = redact.text(CONFIG)
    assert "hidden" not in hidden
    assert hidden.count("\n") == CONFIG.count("\n")
    kept = [line for line in CONFIG.split("\n") if "hidden" not in line and line.strip(' "],')]
    assert [line for line in kept if line not in hidden and "X-Any" not in line and "api_key" not in line] == []
    for part in ("plain.example", '"PLAIN=1"', "X-Any = ", "api_key = "):
        assert part in hidden


def test_what_cannot_be_read_is_redacted_too() -> None:
    assert "hidden" not in redact.text("[broken\npassword = 'hidden'\n")
    assert redact.text('{"process": {"env": ["A_TOKEN=hidden", "B=1"]}}') == (
        '{"process": {"env": ["A_TOKEN=REDACTED", "B=1"]}}'
    )


PEM = "-----BEGIN RSA PRIVATE KEY-----\nhidden\nhidden==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "written",
    [
        # Keys in the ways of Go, JSON and Java.
        'identityToken = "hidden"',
        'clientSecret = "hidden"',
        'secretAccessKey = "hidden"',
        'APIKey = "hidden"',
        'dbPassword2 = "hidden"',
        'pass = "hidden"',
        'user_pass = "hidden"',
        "pwd = 'hidden'",
        # In URLs.
        'endpoint = "https://plain.example/v2?token=hidden&x=1"',
        'endpoint = "https://plain.example/?x=1&X-Amz-Signature=hidden"',
        'endpoint = "https://plain.example/?sig=hidden"',
        'endpoint = "https://user:hidden@plain.example/"',
        'endpoint = "https://hidden@plain.example/"',
        # JSON, in one line and in several, with other types, and within a string.
        '{"auths": {"plain.example": {"auth": "hidden"}}, "plain": 1}',
        '{"password": "hid\\"hidden", "plain": 1}',
        '{\n "headers": {\n  "X": "hidden",\n  "Y": ["hidden"]\n },\n "plain": 1\n}',
        '{"pass":\n  "hidden"}',
        'config = "{\\"password\\": \\"hidden\\", \\"plain\\": 1}"',
        'config = \'{"token": "hidden"}\'',
        # PEM, as a block, in a string, and cut off.
        PEM,
        'ca = """\n' + PEM + '\n"""',
        'pem = "' + PEM.replace("\n", "\\n") + '"',
        PEM[:50],
        # Comments and our own marks.
        '# password = "hidden"',
        "#password: hidden with blanks",
        "  ## token = hidden",
        '// "secret": "hidden"',
        'plain = 1  # zerocopy.rdma, was: password = "hidden"',
        # Command lines, headers, and what can be told by itself.
        'args = ["--password=hidden", "plain"]',
        'args = ["--token", "hidden", "plain"]',
        'x = "Authorization: Bearer hidden.hidden"',
        'x = "Bearer hidden.hidden"',
        'x = "eyJhbGhidden.eyJzdWhidden.hidden"',
        'x = "ghp_hidden0000000000000000"',
        "[broken\npassword = hid'hidden",
        '[broken\npassword = """\nhidden\n"""\n',
    ],
)
def test_credentials_of_every_kind(written: str) -> None:
    hidden = redact.text(written)
    assert "hidden" not in hidden
    assert hidden.count("\n") == written.count("\n")
    assert ("plain" in hidden) == ("plain" in written)


@pytest.mark.parametrize(
    "written",
    [
        'global_auth_file = "/etc/plain"',
        'token_file = "/etc/plain"',
        'secretName = "plain"',
        "passthrough = true",
        "bypass_checks = true",
        'key_model = "node"',
        'tls_key_path = "/plain"',
        'config_path = "/etc/containerd/certs.d"',
        '[plugins."io.containerd.grpc.v1.cri".registry.mirrors."token.example"]\n  endpoint = ["https://token.example"]',
        "-----BEGIN CERTIFICATE-----\nplain\n-----END CERTIFICATE-----",
        "# the password is set elsewhere",
    ],
)
def test_what_only_looks_like_a_credential_stays(written: str) -> None:
    assert redact.text(written) == written


@pytest.mark.parametrize("name", ["dump-1.7.24.toml", "dump-2.1.9.toml", "dump-2.4.2.toml", "oci-spec-1.7.24.json"])
def test_a_runtimes_own_defaults_stay(name: str) -> None:
    text = (Path(__file__).resolve().parents[2] / "fixtures/runtime" / name).read_text(encoding="utf-8")
    assert redact.text(text) == text


def test_a_long_text_takes_time_in_proportion() -> None:
    def seconds(number: int) -> float:
        start = time.process_time()
        redact.text("{" + '"a-b-c": "' + "x-y" * number + '", "token": [' + "[" * number)
        return time.process_time() - start

    seconds(1)
    # Quadratic would be 64 times as long.
    assert seconds(40_000) < 24 * max(seconds(5_000), 0.001)


def test_values_in_messages() -> None:
    assert redact.value(("plugins", "x", "auth", "username"), "me") == "REDACTED"
    assert redact.value(("plugins", "x"), {"password": 1}) == "REDACTED"
    assert redact.value(("plugins", "x"), ["a"]) == ["a"]


@pytest.mark.parametrize("diff", [False, True])
def test_a_diff_is_returned_when_it_is_asked_for(run_part: Callable[..., Any], tmp_path: Path, diff: bool) -> None:
    main = tmp_path / "etc/containerd/config.toml"
    main.parent.mkdir(parents=True)
    (tmp_path / "var/lib").mkdir(parents=True)
    main.write_text(CONFIG)
    done: Dict[str, Any] = run_part("runtime", root=str(tmp_path), _ansible_diff=diff)
    assert done["changed"] is True
    assert ("diff" in done) is diff
    assert "hidden" not in str(done)
    assert "hidden-1" in main.read_text()
