# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Secrets that are planted where they are found, in whatever form the place needs: none of them is left."""

from __future__ import annotations

import base64
import json
import shlex
import string
from typing import Callable, Dict, List, Tuple
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.zerocopy.rdma.plugins.module_utils._values import redact

# What no key, mark or line of these tests has.
ALPHABET = "\u00e4\u00df\u03a9" + string.digits + "QXZ" + "\"'\\$#&%/@:;=,|<>()[]{}!?*~^`+-_. "
SECRETS = st.text(ALPHABET, min_size=1, max_size=24).map(lambda text: f"Q{text}Z7")
WORDS = st.text(string.digits + "QXZ", min_size=12, max_size=40)
LOG = (
    'level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:worker-0} returns sandbox id"\n',
    "2026-11-29T00:01:02+0000 h100-07 kubelet[812]: I1129 00:01:02.3 reconciler.go:251] Started volume\n",
    "\tat runtime.goexit\n",
    "",
)
NAMES = st.sampled_from(
    [
        "password",
        "DB_PASSWORD",
        "registryPassword",
        "client-key-data",
        "api_key",
        "apiKey",
        "X-Auth-Token",
        "auth",
        "psk",
    ]
)


def nested(secret: str, times: int) -> str:
    """JSON in texts of JSON, as a log in JSON quotes a request in JSON."""
    found = json.dumps({"user": "me", "password": secret, "more": "x"}, ensure_ascii=False)
    for _number in range(times):
        found = json.dumps({"msg": found}, ensure_ascii=False)
    return found


PLACES: Dict[str, Callable[[str, str], str]] = {
    "header": lambda _name, secret: f"> Authorization: Custom {secret}",
    "curl": lambda _name, secret: "curl -H " + shlex.quote(f"Authorization: Custom {secret}"),
    "assignment": lambda name, secret: f"{name}={secret}",
    "shell": lambda name, secret: f"export {name}={shlex.quote(secret)}",
    "unit": lambda name, secret: f'Environment="{name}={secret}"'.replace("\n", ""),
    "json": lambda name, secret: json.dumps({name: secret, "other": 1}, ensure_ascii=False),
    "json 1": lambda _name, secret: nested(secret, 1),
    "json 2": lambda _name, secret: nested(secret, 2),
    "pairs": lambda _name, secret: json.dumps({"env": [{"name": "A", "value": secret}]}, ensure_ascii=False),
    "pair": lambda _name, secret: f'envs:<key:"MODE" value:{json.dumps(secret, ensure_ascii=False)} >',
    "yaml": lambda name, secret: yaml.safe_dump({"a": {name: secret}}, allow_unicode=True, width=9999),
    "block": lambda name, secret: f"a:\n  {name}: |\n    {secret}\n    {secret}\n  b: 1",
    "folded": lambda name, secret: f"a:\n  {name}:\n    {secret}",
    "toml": lambda name, secret: f"[header]\n  {name} = {json.dumps(secret, ensure_ascii=False)}",
    "toml list": lambda name, secret: f"{name} = [{json.dumps(secret, ensure_ascii=False)}]",
    "toml lines": lambda name, secret: f'{name} = """\n{secret}'.replace('Q"""', "Q") + '"""',
    "pair, value first": lambda _name, secret: json.dumps({"value": secret, "name": "A"}, ensure_ascii=False),
    "option": lambda _name, secret: f"curl --oauth2-token {shlex.quote(secret)} x",
    "option in quotes": lambda _name, secret: f'cmd="--token {secret}"',
    "option in sh": lambda _name, secret: f"sh -c {shlex.quote('--token ' + secret)}",
    "option after a line": lambda _name, secret: json.dumps(f"x \\\n--api-key {secret}", ensure_ascii=False),
    "option of a kubelet": lambda _name, secret: f"&Container{{Name:c,Args:[--api-key {secret} --model m],Ports:[]}}",
    "options": lambda _name, secret: json.dumps({"args": ["x", "--api-key", secret]}, ensure_ascii=False),
    "options 1": lambda _name, secret: json.dumps(
        {"msg": json.dumps(["-api-key", secret], ensure_ascii=False)}, ensure_ascii=False
    ),
    "options in lines": lambda _name, secret: json.dumps({"args": ["--api-key", secret]}, ensure_ascii=False, indent=2),
    "options in yaml": lambda _name, secret: yaml.safe_dump(
        {"args": ["--token", secret]}, allow_unicode=True, width=9999
    ),
    "options in go": lambda _name, secret: f'["x" "--token" {json.dumps(secret, ensure_ascii=False)}]',
    "options of cri": lambda _name, secret: f'args:"--token" args:{json.dumps(secret, ensure_ascii=False)}',
    "options of audit": lambda _name, secret: f'a1="--token" a2={json.dumps(secret, ensure_ascii=False)}',
}


def parts(secret: str) -> List[str]:
    """What must not be left of it: no three characters in a row, as far as they are letters or digits."""
    letters = "".join(char if char.isalnum() else " " for char in secret)
    return [word for word in letters.split() if len(word) >= 3]


def left(found: str, secret: str) -> List[str]:
    return [part for part in [secret, *parts(secret)] if part in found]


@settings(deadline=None, max_examples=400)
@given(place=st.sampled_from(sorted(PLACES)), name=NAMES, secret=SECRETS, around=st.tuples(*[st.sampled_from(LOG)] * 2))
def test_no_planted_secret_is_left(place: str, name: str, secret: str, around: Tuple[str, str]) -> None:
    if place == "toml lines" and '"""' in secret:
        return
    text = around[0] + PLACES[place](name, secret) + "\n" + around[1]
    clean = (around[0] + around[1]) if place != "toml lines" else ""
    found = redact.text(text)
    assert [part for part in left(found, secret) if part not in clean] == []
    assert redact.MARK in found
    assert redact.text(found) == found


@pytest.mark.parametrize(
    "unit", ['"A=1" "B=Q0Z7"', "A=1 B=Q0Z7", '"password=Q" 0Z7"', "A=1 \\\n  B=Q0Z7", "'A=x y' B=Q0Z7"]
)
def test_all_assignments_of_a_unit_are_values_of_an_environment(unit: str) -> None:
    found = redact.text(f"[Service]\nEnvironment={unit}\nUser=root\n")
    assert found == f"[Service]\nEnvironment={redact.MARK}\nUser=root\n"


@settings(deadline=None)
@given(secret=WORDS, user=WORDS, name=st.sampled_from(["http_proxy=", "HTTPS_PROXY: ", '"httpProxy":"', "--proxy "]))
def test_credentials_of_a_proxy_without_a_scheme(secret: str, user: str, name: str) -> None:
    for text in (secret, secret + "/p@q:r"):
        found = redact.text(f"{name}{user}:{text}@proxy.example.org:3128 x")
        assert secret not in found
        assert user not in found
        assert "proxy.example.org:3128 x" in found
        assert redact.text(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "opensm --smkey {}",
        "smkey={}",
        " SM Key <{}>",
        "m_key {}",
        "M_Key:{}",
        "Mkey:....................{}",
        "sa_key {}",
    ],
)
def test_keys_of_subnet_managers(text: str) -> None:
    found = redact.text(text.format("0x1234567812345678"))
    assert "1234" not in found
    assert found.startswith(text.partition("{}")[0])


@settings(deadline=None)
@given(secret=WORDS, user=WORDS, host=st.sampled_from(["registry.example.org", "[2001:db8::1]:5000"]))
def test_credentials_in_addresses(secret: str, user: str, host: str) -> None:
    for text in (secret, quote(secret + "/@:", safe=""), secret + "/p@q"):
        found = redact.text(f"pull https://{user}:{text}@{host}/v2/ failed")
        assert secret not in found
        assert user not in found
        assert host in found


@settings(deadline=None)
@given(secret=st.binary(min_size=16, max_size=48))
def test_tokens_without_a_name(secret: bytes) -> None:
    body = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    jwt = f"eyJhbGciOiJSUzI1NiJ9.{body}.{body}"
    for text in (f"got {jwt}", f"bearer {body}", f"hf_{'a' * 16}{secret.hex()}", f"Basic {body}=="):
        found = redact.text(f"x {text} y")
        assert body not in found
        assert secret.hex() not in found
        assert found.endswith(" y")
    assert "abcdef.0123456789abcdef" not in redact.text("kubeadm join --discovery abcdef.0123456789abcdef now")


KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"


def pem(separator: str, prefix: str = "") -> List[str]:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", *[KEY] * 4, "MzEfYyjiWA4R==", "-----END RSA PRIVATE KEY-----"]
    return [f"{prefix}{line}{separator}" for line in lines]


@pytest.mark.parametrize("prefix", ["", "2026-11-29T00:01:02+0000 h100-07 kubelet[812]: ", "    "])
@pytest.mark.parametrize("separator", ["\n", "\\n", " "])
@pytest.mark.parametrize("cut", [(0, 7), (1, 7), (0, 6), (0, 3), (4, 7), (5, 7)])
def test_keys_are_taken_out_even_if_cut_off(prefix: str, separator: str, cut: Tuple[int, int]) -> None:
    text = "before -\n" + "".join(pem(separator, prefix)[slice(*cut)]) + "\nafter -\n"
    found = redact.text(text)
    assert KEY not in found
    assert KEY[:20] not in found
    if cut[1] == 7:
        assert "MzEfYyjiWA4R" not in found
    assert found.startswith("before -\n")
    assert found.endswith("after -\n")


@settings(deadline=None)
@given(name=NAMES, secret=st.one_of(WORDS, st.lists(WORDS, min_size=1), st.dictionaries(WORDS, WORDS, min_size=1)))
def test_data_is_redacted_by_names(name: str, secret: object) -> None:
    value = {"spec": [{name: secret, "driver": "dra.net"}, f"https://u:{name}@host/"], "count": 3, "none": None}
    found = redact.data(value)
    assert found["spec"][0] == {name: redact.MARK, "driver": "dra.net"}
    assert found["spec"][1] == f"https://{redact.MARK}@host/"
    assert (found["count"], found["none"]) == (3, None)
    assert redact.data(found) == found


def test_the_values_of_an_environment_are_secret_whatever_their_name() -> None:
    value = {"env": [{"name": "MODE", "value": "xyz"}, "A=xyz"], "environment": {"B": "xyz"}, "args": ["MODE=abc"]}
    found = redact.data({**value, "entry": {"name": "MODE", "value": "xyz"}})
    assert "xyz" not in json.dumps(found)
    assert found["env"][0]["name"] == "MODE"
    assert found["args"] == ["MODE=abc"]


def test_arguments_in_data_are_redacted_by_the_option_before_them() -> None:
    value = {
        "args": ["vllm", "--api-key", "xyz", "--model", "m", "--token", 5, "--secret"],
        "command": ["--token", ["a"]],
    }
    found = redact.data(value)
    mark = redact.MARK
    assert found["args"] == ["vllm", "--api-key", mark, "--model", "m", "--token", mark, "--secret"]
    assert found["command"] == ["--token", ["a"]]
    assert redact.data(found) == found
    assert redact.data({"name": "A", "value": "xyz", "valueFrom": None})["value"] == mark


@pytest.mark.parametrize(
    "text",
    [
        *LOG,
        "containerd[1]: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 pulled",
        "mlx5_core 0000:1a:00.0: Port module event: module 3, Cable plugged",
        "p_key 0x8001 lkey 0x1234 gid fe80:0000:0000:0000:506b:4b03:00c0:b91b",
        "6f0b2f5e-8f43-4a41-a9a3-0f7a9b4f6c55 in /var/lib/kubelet/pods/6f0b2f5e-8f43-4a41-a9a3-0f7a9b4f6c55/volumes",
        "--feature-gates=DynamicResourceAllocation=true,DRADeviceTaints=true",
        "keyring monkey author passenger environmental",
        "mlx5_core 0000:1a:00.0: mkey 0x1234 psv 0x5, sm lid 0x1",
        'msg="unknown flag: --token" err="exit status 2" value="3", other="x"',
        '{"level":"info","value":"enabled","other":"--token"}',
        'args=["--insecure-token"],"image":"vllm:1.0@sha256:9f86d081"',
        "kube-proxy: registry.example.org:5000/proxy:v1@sha256:9f86d081 10.0.0.1@o2ib:10.0.0.2@o2ib:/lustre",
        "name-token of a-secret-thing",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact.text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "password" * 20_000,
        "-----BEGIN X-----\n" * 10_000,
        'password="' + '\\"' * 15_000,
        "token: |\n" * 15_000,
        "https://" * 15_000,
        "a-" * 15_000,
        "name=" * 20_000,
        "-----END X-----\nAAAA\n" * 30_000,
        "secret='" * 15_000,
        "password:\n" + "  token:\n" * 15_000,
        '--token",' + "," * 100_000,
        "[-token" * 15_000,
        "-token " + "-" * 100_000,
        '"-token"\\n' * 10_000,
        'name:"x"' + " " * 100_000,
        'value:"x"' + " " * 100_000,
        'value="' * 20_000,
        'value:\\"value:"' * 10_000,
        'value:"' + '\\"' * 30_000,
        "proxy:" * 20_000,
        "proxy=a:" + "a" * 100_000,
        "proxy =  " * 15_000,
        "m_key." * 20_000,
        "sm key " + "." * 100_000,
    ],
    ids=lambda text: text[:20],
)
def test_a_hostile_text_comes_to_an_end(text: str) -> None:
    """If the time grew with the square of the length, this would take hours."""
    found = redact.text(text)
    assert redact.text(found) == found
