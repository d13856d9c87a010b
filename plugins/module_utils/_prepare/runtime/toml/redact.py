# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Removes credentials from configurations, for diffs and messages.

All that says what a credential is stands at the beginning of this file: names, and what values look like.
"""

from __future__ import annotations

import re
from typing import Any, List, Sequence, Tuple

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.document import TomlDocument, lines_of
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.runtime.toml.edit import masked

HIDDEN = "REDACTED"
# A name is split into words, at _, - and capitals. It is that of a credential if a word ends so, or is one of these, or
# is "key" after one of those, unless the last word says that the value is something else.
_ENDINGS = (
    *("password", "passwd", "passphrase", "secret", "token", "credential", "signature"),
    *("apikey", "accesskey", "secretkey", "privatekey"),
)
_WORDS = ("pass", "pwd", "auth", "auths", "authorization", "bearer", "cookie", "header", "sig", "psk")
_OF_KEYS = ("api", "access", "private", "secret", "encryption", "signing", "account", "shared", "master")
_ABOUT = (
    *("file", "path", "dir", "directory", "name", "url", "uri", "endpoint", "helper", "store", "provider", "command"),
    *("type", "mode", "enabled", "required", "timeout", "ttl", "seconds", "expiry", "size", "limit"),
)
# Values by themselves: what is kept, and what is hidden.
_VALUES = [
    (re.compile(pattern), kept)
    for pattern, kept in (
        # A user in a URL, and a key in its query.
        (r"(://)[^/\s\"'@]+(?=@)", r"\1"),
        (r"([?&](?:key|code)=)[^&#\s\"']+", r"\1"),
        # Of the header Authorization.
        (r"\b((?:[Bb]earer|[Bb]asic)[ \t]+)[A-Za-z0-9._~+/=-]{6,}", r"\1"),
        # JSON web tokens; tokens of GitHub, GitLab, Hugging Face and NGC; key IDs of AWS.
        (r"\beyJ[\w-]{6,}\.[\w-]+(?:\.[\w-]*)?", ""),
        (r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|nvapi-)[\w-]{10,}", ""),
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", ""),
    )
]
_PEM = re.compile(r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----)(.*?)(?=-----END |\Z)", re.S)

_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Also where it is in a comment, a string, a URL's query or a command line.
_NAMED = re.compile(r"""(?<!\w)([A-Za-z_][\w-]{0,80})((?:\\?["'])?[ \t]*(?:=|:(?!//)|\\?["'][ \t]*,)\s*)(?=\S)""")
_FIRST = re.compile(r"""[ \t]*(?:#+|//|;)?[ \t]*["']?(?:[\w-]+\.)*""")
_PLAIN = re.compile(r"(?:-?[0-9][\w.+-]*|true|false|null)(?=[ \t]*(?:[,}\]\r\n]|\Z))")
_STRING = re.compile(r"""(\\?)("{3}|'{3}|["'])""")


def text(config: str) -> str:
    """The TOML or JSON text with every credential replaced; it has as many lines as before."""
    lines = lines_of(config)
    try:
        document = TomlDocument(masked(config), "")
    except HostError:
        statements = []
    else:
        statements = [(path, at) for path, at in document.keys.items() if _secret(path, document.get(path))]
    for _path, at in statements:
        first = lines[at.first].partition("=")[0].rstrip()
        for number in range(at.first, at.last + 1):
            lines[number] = "\n" if number < at.last else _end(lines[number])
        lines[at.first] = f'{first} = "{HIDDEN}"' + ("\n" if at.first < at.last else _end(lines[at.last]))
    hidden = _without_keys("".join(lines))
    # Tables in arrays, comments, JSON, and texts that cannot be parsed.
    hidden = _without_named(hidden)
    for pattern, kept in _VALUES:
        hidden = pattern.sub(kept + HIDDEN, hidden)
    return hidden


def value(path: Sequence[str], content: Any) -> Any:
    """One setting's value, as a message may show it."""
    return HIDDEN if _secret(path, content) else text(content) if isinstance(content, str) else content


def is_secret(name: str) -> bool:
    """Whether what has this name is a credential."""
    words = [word for word in re.split("[^a-z]+", _BOUNDARY.sub("_", name).lower()) if word]
    words += [""] if not words else []
    single = [word[:-1] if word.endswith("s") and word not in _WORDS else word for word in words]
    if single[-1] in _ABOUT:
        return False
    pairs = zip(single, single[1:])
    return any(word.endswith(_ENDINGS) or word in _WORDS for word in single) or any(
        first in _OF_KEYS and second == "key" for first, second in pairs
    )


def _without_keys(config: str) -> str:
    """Without private keys in PEM, also of one line."""
    return _PEM.sub(lambda found: found.group(1) + HIDDEN + _breaks(found.group(2)), config)


def _without_named(config: str) -> str:
    """Without the values of all names of credentials."""
    done: List[str] = []
    at = 0
    for found in _NAMED.finditer(config):
        if found.start() < at or not is_secret(found.group(1)):
            continue
        separator = found.group(2)
        # An option and its value are neighbours in a list only where the name begins with a dash.
        if separator.rstrip().endswith(",") and config[found.start() - 1 : found.start()] != "-":
            continue
        first = _FIRST.fullmatch(config, config.rfind("\n", 0, found.start()) + 1, found.start()) is not None
        if "\n" in separator and config[found.end()] not in "\"'{[":
            continue
        end, shown = _extent(config, found.end(), first)
        done += [config[at : found.end()], shown]
        at = end
    return "".join([*done, config[at:]])


def _extent(config: str, start: int, first: bool) -> Tuple[int, str]:
    """Where the value ends that begins at ``start``, and what is shown for it. ``first``: its name begins a line."""
    string = _STRING.match(config, start)
    if string:
        quote = string.group()
        end = _closing(config, string.end(), quote)
        return end, f"{quote}{HIDDEN}{_breaks(config[start:end])}{quote}"
    plain = _PLAIN.match(config, start)
    if plain:
        return plain.end(), f'"{HIDDEN}"'
    if config[start] in "{[":
        end = _balanced(config, start)
        return end, f'"{HIDDEN}"' + _breaks(config[start:end])
    stop = re.compile(r"[\r\n]" if first else r"[\"'&\r\n]").search(config, start)
    end = stop.start() if stop else len(config)
    return end, f'"{HIDDEN}"' if first else HIDDEN


def _closing(config: str, at: int, quote: str) -> int:
    """Behind the end of a string; a backslash takes the next character, unless the quotes have one themselves."""
    while at < len(config):
        if config.startswith(quote, at):
            return at + len(quote)
        if config[at] == "\n" and len(quote) < 3:
            return at
        at += 2 if config[at] == "\\" and quote[0] == '"' else 1
    return len(config)


def _balanced(config: str, at: int) -> int:
    """Behind the end of an object or a list."""
    depth = 0
    while at < len(config):
        string = _STRING.match(config, at)
        if string:
            at = _closing(config, string.end(), string.group())
            continue
        depth += (config[at] in "{[") - (config[at] in "}]")
        at += 1
        if depth == 0:
            return at
    return len(config)


def _breaks(config: str) -> str:
    return "\n" * config.count("\n")


def _end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _secret(path: Sequence[str], content: Any) -> bool:
    # Tables may be named after hosts and plugins, whose names have dots.
    if any(is_secret(part) for part in [*(part for part in path[:-1] if "." not in part), *path[-1:]]):
        return True
    if isinstance(content, dict):
        return any(_secret((key,), inner) for key, inner in content.items())
    return isinstance(content, list) and any(_secret((), inner) for inner in content)
