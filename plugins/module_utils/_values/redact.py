# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Secrets taken out of logs, configuration and objects, for files that leave the site.

Where it is not clear how far a secret goes, more is taken out: the rest of the line, or all that is below a key. Known
forms are those of HTTP (RFC 9110, Authorization), URLs (RFC 3986, userinfo), PEM (RFC 7468), JSON Web Tokens
(RFC 7519), kubeconfig, containerd (hosts.toml, config.toml), environment variables, and the tokens of some vendors.
"""

from __future__ import annotations

import re
from typing import Any, List, Mapping, Optional, Tuple

MARK = "[redacted]"

# In names of values that nobody else may know. With _ for - and nothing: client-key-data, apiKey, API_KEY.
_WORDS = (
    "passw(?:or)?d|passphrase|passcode|secret|token|credential|api[-_.]?key|access[-_.]?key|private[-_.]?key"
    "|client[-_.]?key|client[-_.]?certificate|certificate[-_.]?authority[-_.]?data|signing[-_.]?key"
    "|encryption[-_.]?key|[ms][am]?_key|s[am][- ]?key|authorization|cookie|amz[-_.]signature"
    "|dockercfg|dockerconfig|kubeconfig"
)
# These only count as whole words of a name.
_WHOLE = "auth|auths|pass|pwd|psk|sig|environment|env|envs"
# Bounded, or many such words in one line would take for ever.
_NAME = rf"(?:(?:{_WORDS})[\w.-]{{0,60}}|(?<![A-Za-z0-9])(?:{_WHOLE}))"
_KEY = re.compile(rf"{_NAME}\\*[\"']?\]?\s*(?:=>|:=|[:=])[ \t]*", re.IGNORECASE)
_OPTION_NAME = rf"--?[\w-]{{0,200}}?(?:{_WORDS})[\w-]{{0,200}}"
# Between an option and its value: a blank, or what lists of arguments have there in JSON, YAML, Go, CRI and audit.
_TO_VALUE = (
    r"[ \t]+(?=\S)|[ \t]*\n[ \t]*-[ \t]+(?=\S)"
    r"|\\*[\"'](?:[\s,]|\\{1,8}n){1,60}(?:(?:-[ \t]+)?(?=\\*[\"'])|(?:a\d{1,4}=|args?:[ \t]?)(?=\S))"
)
# In text that is quoted, a letter may stand for the end of a line.
_OPTION = re.compile(rf"(?:(?<![\w-])|(?<=\\[nrt])){_OPTION_NAME}(?:{_TO_VALUE})", re.IGNORECASE)
_OPTION_ALONE = re.compile(_OPTION_NAME, re.IGNORECASE)
# name: X value: Y, as objects and CRI's messages have the variables of an environment.
_PAIR = re.compile(
    r"(?<![A-Za-z])(?:name|key)\\*[\"']?\s*[:=]\s*\\*[\"']?[A-Za-z_][\w.-]{0,200}\\*[\"']?(?:\s*,)?\s*\\*[\"']?value"
    r"\\*[\"']?\s*[:=][ \t]*",
    re.IGNORECASE,
)
# The same in the other order. Bounded, as each value is looked through.
_VALUE_FIRST = re.compile(r"(?<![A-Za-z])value\\*[\"']?\s*[:=][ \t]*(?=\\*[\"'])", re.IGNORECASE)
_NAME_NEXT = re.compile(r"(?:\s*,)?\s*\\*[\"']?(?:name|key)\\*[\"']?\s*[:=]", re.IGNORECASE)
_LONGEST_VALUE = 1 << 12
# Keys of subnet managers have 64 bits. What mlx5 calls an mkey has 32, and is no secret.
_SUBNET_KEY = re.compile(
    r"(?<![A-Za-z0-9])((?:(?:[ms]|s[am])[-_]|s[am] ?)key[^\w\n]{1,40}|m ?key[^\w\n]{1,40}(?=0x[0-9a-f]{9}))"
    r"0x[0-9a-f]{1,16}(?![0-9a-z])",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(rf".*?{_NAME}", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(r"(\\*)(\"\"\"|'''|[\"'`])")
_MORE = re.compile(r"[^\s,;:)\]}\\\"'`]*")
_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(?:#.*)?")
# What journalctl writes before each line of a message.
_PREFIX = re.compile(r"\d{4}-\d\d-\d\dT\S{8,30} \S{1,255} [^\s:\[]{1,255}(?:\[\d+\])?: ?")

# A line of a unit, or of `systemctl show`: any number of assignments, quoted or not (systemd.exec(5)).
_ENVIRONMENT = re.compile(r"\b(Environment=)(?:[^\n\\]|\\.|\\\n)*")
_SCHEMES = re.compile(r"\b(Bearer|Basic)\s+[^\s\"',;\\]{4,}", re.IGNORECASE)
_URL = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s\"'<>`]{0,512}@")
# A proxy's address, as variables have it without a scheme.
_PROXY = re.compile(
    r"(proxy[\w-]{0,20}\\*[\"']?[ \t]{0,5}[=: ][ \t]{0,5}\\*[\"']?)(?![a-z][a-z0-9+.-]{0,30}://)"
    r"[^\s\"'<>`/:@]{1,128}:[^\s\"'<>`]{0,512}@(?!sha\d)",
    re.IGNORECASE,
)
_TOKENS = re.compile(
    r"\beyJ[\w-]{4,}(?:\.[\w-]*)+"  # JSON Web Token
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|hf_|nvapi-|sk-|xox[abprs]-|npm_|dckr_pat_)[\w-]{16,}"
    r"|(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])"  # bootstrap token of kubeadm
)
# A key that has lost its name: long, and of all kinds of letters, unlike digests, paths and names.
_LONG = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_LONGEST_PART = 24
_PEM = re.compile(r"-----(BEGIN|END) [^\n]{1,64}?-----")
_LONGEST_PEM = 1 << 16
_PEM_LINE = re.compile(r"(?:.*[\s:>|\"'])?([A-Za-z0-9+/=]{1,76})[ \t]*")
_FULL_PEM_LINE = 60


def text(value: str) -> str:
    """The text without secrets. What was redacted once stays as it is."""
    found = _ENVIRONMENT.sub(rf"\1{MARK}", _pem(value))
    found = _SUBNET_KEY.sub(rf"\1{MARK}", _without_values_before_names(found))
    for pattern in (_PAIR, _KEY, _OPTION):
        found = _named(found, pattern)
    found = _SCHEMES.sub(rf"\1 {MARK}", found)
    found = _PROXY.sub(rf"\1{MARK}@", _URL.sub(rf"\1{MARK}@", found))
    found = _TOKENS.sub(MARK, found)
    return _LONG.sub(lambda match: MARK if _is_random(match[0]) else match[0], found)


def data(value: Any) -> Any:
    """Data as JSON has it, without secrets: by the names of values, and in each text."""
    if isinstance(value, Mapping):
        return {text(str(name)): _named_value(str(name), own, value) for name, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [MARK if _is_value_of(before, each) else data(each) for before, each in zip([None, *value], value)]
    return text(value) if isinstance(value, str) else value


def _named_value(name: str, value: Any, siblings: Mapping[str, Any]) -> Any:
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return value
    if name.lower() in ("env", "envs", "environment"):
        return _environment(value)
    # An entry of an environment, wherever it is.
    of_environment = name == "value" and set(siblings) <= {"name", "value", "key", "valueFrom"} and len(siblings) > 1
    return MARK if of_environment or is_secret_name(name) else data(value)


def _is_value_of(before: Any, value: Any) -> bool:
    """Whether arguments of a command have a secret there: ``before`` is the one in front of it."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not isinstance(before, str):
        return False
    return bool(value != "" and _OPTION_ALONE.fullmatch(before))


def _environment(value: Any) -> Any:
    """Its names without their values."""
    if isinstance(value, Mapping):
        return {text(str(name)): MARK for name in value}
    if not isinstance(value, (list, tuple)):
        return MARK
    found: List[Any] = []
    for each in value:
        if isinstance(each, Mapping):
            found.append({**dict.fromkeys(each, MARK), **({"name": text(str(each["name"]))} if "name" in each else {})})
        else:
            name, equal, _value = str(each).partition("=")
            found.append(f"{text(name)}={MARK}" if equal else MARK)
    return found


def is_secret_name(name: str) -> bool:
    """Whether values of this name are secret."""
    return _SECRET_NAME.fullmatch(name) is not None


def _named(value: str, pattern: re.Pattern[str]) -> str:
    """Without the values after names that the pattern finds."""
    parts: List[str] = []
    at = 0
    while True:
        match = pattern.search(value, at)
        if match is None:
            return "".join(parts) + value[at:]
        kept, end = _value(value, match.end())
        parts += [value[at : match.end()], kept]
        at = end


def _without_values_before_names(value: str) -> str:
    parts: List[str] = []
    at = 0
    for match in _VALUE_FIRST.finditer(value):
        near = value[match.end() : match.end() + _LONGEST_VALUE]
        opening = _OPENING.match(near)
        if opening is None or match.start() < at:
            continue
        end = match.end() + _closing(near, opening)
        if _NAME_NEXT.match(value, end):
            parts += [value[at : match.end()], opening[0], MARK, opening[0]]
            at = end
    return "".join(parts) + value[at:]


def _value(value: str, start: int) -> Tuple[str, int]:
    """What takes the place of the value that begins there, and where the value ends."""
    opening = _OPENING.match(value, start)
    if opening:
        end = start
        # In a shell, several quoted parts and others are one value.
        following: Optional[re.Match[str]] = opening
        while following:
            end = _closing(value, following)
            more = _MORE.match(value, end)
            end = more.end() if more else end
            following = _OPENING.match(value, end)
        return f"{opening[0]}{MARK}{opening[0]}", end
    end = _line_end(value, start)
    line = value[start:end].strip()
    if line == MARK:
        return MARK, end
    if not line or _BLOCK.fullmatch(line) or line[0] in "[{(":
        # What is indented further belongs to it.
        block = _block_end(value, start, end)
        return (MARK if line or block > end else ""), block
    return MARK, end


def _line_end(value: str, start: int) -> int:
    end = value.find("\n", start)
    return len(value) if end < 0 else end


def _closing(value: str, opening: re.Match[str]) -> int:
    """Where a quoted text ends, with its closing quote; at the end of the line if it has none."""
    level, quote = len(opening[1]), opening[2]
    at = value.find(quote, opening.end())
    while at >= 0:
        slashes = 0
        while at - slashes > opening.end() and value[at - slashes - 1] == "\\":
            slashes += 1
        after = at + len(quote)
        doubled = quote == "'" and value[after : after + 1] == quote
        # In a text that is quoted once more, each quote has more backslashes before it: 1, 3, 7, ...
        if slashes % (2 * (level + 1)) == level and not doubled:
            return after
        at = value.find(quote, after + doubled)
    return len(value) if len(quote) > 1 else _line_end(value, opening.end())


def _indent(line: str) -> int:
    prefix = _PREFIX.match(line)
    own = line[prefix.end() :] if prefix else line
    return len(own) - len(own.lstrip(" \t"))


def _block_end(value: str, start: int, line_end: int) -> int:
    """The end of the lines below that are indented further than the line of ``start``."""
    indent = _indent(value[value.rfind("\n", 0, start) + 1 : line_end])
    end = line_end
    while end < len(value):
        following = _line_end(value, end + 1)
        line = value[end + 1 : following]
        if line.strip() and _indent(line) <= indent:
            break
        end = following
    return end


def _pem(value: str) -> str:
    """Without PEM blocks; of those that were cut off, without the lines that belong to them."""
    parts: List[str] = []
    at, begin = 0, -1
    for match in _PEM.finditer(value):
        is_near = begin >= 0 and match.start() - begin <= _LONGEST_PEM
        if match[1] == "BEGIN":
            begin = begin if is_near else match.start()
        elif is_near:
            parts += [value[at:begin], MARK]
            at, begin = match.end(), -1
    found = "".join(parts) + value[at:]
    if not _PEM.search(found):
        return found
    lines = found.split("\n")
    for number, line in enumerate(lines):
        half = _PEM.search(line)
        if half and half[1] == "BEGIN":
            lines[number] = line[: half.start()] + MARK
            _cut_key(lines, number + 1, 1)
        elif half:
            lines[number] = MARK + line[half.end() :]
            _cut_key(lines, number - 1, -1)
    return "\n".join(lines)


def _cut_key(lines: List[str], at: int, step: int) -> None:
    """Take out the lines of a key, of which only the last one is shorter."""
    is_last = step < 0
    while 0 <= at < len(lines):
        match = _PEM_LINE.fullmatch(lines[at])
        if match is None or (len(match[1]) < _FULL_PEM_LINE and not is_last):
            return
        lines[at] = lines[at][: match.start(1)] + MARK
        at, is_last = at + step, False


def _is_random(value: str) -> bool:
    kinds = (str.isupper, str.islower, str.isdigit)
    if not all(any(kind(char) for char in value) for kind in kinds):
        return False
    return max(map(len, re.split(r"[/_-]", value))) >= _LONGEST_PART


def count(value: str) -> int:
    """How often something was redacted in a text."""
    return value.count(MARK)
