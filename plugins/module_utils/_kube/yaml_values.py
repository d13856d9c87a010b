# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The values of YAML documents as kubectl reads them (YAML 1.1 without timestamps, no key twice), and compared."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

try:
    import yaml
    from yaml import SafeLoader
except ImportError:
    # Manifests are rewritten where Ansible runs, which needs it as well.
    SafeLoader = object  # type: ignore[misc, assignment]

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
# What Python makes of 1:1:1... (base 60) is as long as the square of it.
_DIGITS = 100
# No schema of Kubernetes is half as deep. Values that aliases stand for, in all documents of a text.
_DEEPEST, _REPEATED = 100, 10000
_TOO_DEEP = f"has values that are nested more than {_DEEPEST} levels deep"


class TextError(Exception):
    """The text cannot be read as YAML, or not be changed where it has to be; the text says why.

    ``documents`` are the numbers of those that cannot be changed, none where that is not known.
    """

    def __init__(self, text: str, documents: Sequence[int] = ()) -> None:
        super().__init__(text)
        self.documents = documents


class Loader(SafeLoader):
    """Dates are texts, and what is nested too deeply is an error of this module."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth += 1
        try:
            if self.depth > _DEEPEST:
                raise TextError(f"{_TOO_DEEP} ({_line(self.peek_event())})")  # type: ignore[no-untyped-call]
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag != _TIMESTAMP]
    for first, known in getattr(SafeLoader, "yaml_implicit_resolvers", {}).items()
}


def read(text: str) -> List[Any]:
    """The values of all documents, none of them in two places. Raises TextError.

    Whoever wrote the text, the work is in proportion to its length.
    """
    values: List[Any] = []
    check = _Check()
    try:
        loader: Any = Loader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                check.document(node)
                values.append(loader.construct_document(node))
        finally:
            loader.dispose()
        json.dumps(values)
    except yaml.YAMLError as error:
        if "{{" in text:
            raise TextError("is a template, not YAML: render it first, or change its values") from error
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise TextError(f"is not YAML{where}: {getattr(error, 'problem', None) or error}") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise TextError(f"has values that JSON has no form for: {error}") from error
    return [_unshared(value) for value in values]


def _unshared(value: Any) -> Any:
    """A copy in which an alias is a value of its own: what is changed in one place is not changed in another."""
    if isinstance(value, dict):
        return {key: _unshared(entry) for key, entry in value.items()}
    return [_unshared(entry) for entry in value] if isinstance(value, list) else value


class _Size(NamedTuple):
    """How many values a node is with all that its aliases stand for, and how deep these are nested."""

    values: int
    height: int


class _Check:
    """What is refused in the documents of a text before their values are made, which is where the work would be."""

    def __init__(self) -> None:
        # None while it is being looked at.
        self.known: Dict[int, Optional[_Size]] = {}
        self.again = 0

    def document(self, node: Any) -> None:
        """Raises TextError. No alias leads to another document, and nodes have the ids of those that are gone."""
        self.known.clear()
        self.size(node)

    def size(self, node: Any) -> _Size:
        """Raises TextError."""
        if id(node) in self.known:
            found = self.known[id(node)]
            if found is None:
                raise TextError(f"has an alias in the value that it stands for ({_line(node)})")
            self.again += found.values
            if self.again > _REPEATED:
                raise TextError(f"has aliases that stand for more than {_REPEATED} values: write these out, or fewer")
            return found
        self.known[id(node)] = None
        inner = [self.size(each) for each in self._inner(node)]
        found = _Size(1 + sum(each.values for each in inner), 1 + max((each.height for each in inner), default=0))
        if found.height > _DEEPEST:
            raise TextError(f"{_TOO_DEEP} ({_line(node)})")
        self.known[id(node)] = found
        return found

    def _inner(self, node: Any) -> Iterator[Any]:
        if isinstance(node, yaml.MappingNode):
            keys = Counter(key.value for key, _value in node.value if isinstance(key, yaml.ScalarNode))
            for key, times in keys.items():
                if times > 1:
                    raise TextError(f"has the key {key} twice ({_line(node)})")
            yield from (each for entry in node.value for each in entry)
        elif isinstance(node, yaml.SequenceNode):
            yield from node.value
        elif node.tag in _NUMBERS and len(node.value) > _DIGITS:
            raise TextError(f"has a number of {len(node.value)} characters ({_line(node)})")


def _line(node: Any) -> str:
    return f"line {node.start_mark.line + 1}"


def aliased(documents: Sequence[Any]) -> Set[int]:
    """The nodes (by ``id``) of composed documents that are in more than one place."""
    waiting = list(documents)
    seen: Set[int] = set()
    again: Set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            again.add(id(node))
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [value for _key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return again


def _canonical(value: Any) -> str:
    return json.dumps(_by_text(value), sort_keys=True, default=str)


def _by_text(value: Any) -> Any:
    """With texts as keys, as JSON has them: numbers and ``on`` are others in YAML, and cannot be sorted among texts."""
    if isinstance(value, dict):
        return {str(key): _by_text(entry) for key, entry in value.items()}
    return [_by_text(entry) for entry in value] if isinstance(value, list) else value


def same(old: Any, new: Any) -> bool:
    """Whether two values are the same; to Python, ``1`` and ``True`` are."""
    return _canonical(old) == _canonical(new)


def aligned(old: Sequence[Any], new: Sequence[Any]) -> List[Tuple[Optional[int], Optional[int]]]:
    """Which entry of one list is which of the other; ``None`` where one has no counterpart. In order."""
    before, after = [*map(_canonical, old)], [*map(_canonical, new)]
    places = [place for place, (first, second) in enumerate(zip(before, after)) if first != second]
    # The usual case, without looking for each entry in all others: none was moved.
    if len(before) == len(after) and {before[place] for place in places}.isdisjoint(after[place] for place in places):
        return [(place, place) for place in range(len(before))]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    found: List[Tuple[Optional[int], Optional[int]]] = []
    for _tag, start, end, other, stop in matcher.get_opcodes():
        both = min(end - start, stop - other)
        found += [(start + step, other + step) for step in range(both)]
        found += [(place, None) for place in range(start + both, end)]
        found += [(None, place) for place in range(other + both, stop)]
    return found
