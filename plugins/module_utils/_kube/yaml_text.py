# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Changes in the text of YAML, where every line that says nothing else stays as it is.

A library that writes parsed YAML back has one indentation for a whole text, and spaces and lines of its own in braces.
ruamel.yaml's round trip (0.19.1) keeps quotes and most comments, but not that, and a comment goes with the key before
it: without ``hostNetwork``, the comment on the next key is lost. Here the places of keys and entries are taken from the
parser, and the text is changed there only.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Mapping, Sequence, Set, Tuple

try:
    import yaml
    from yaml import SafeDumper
except ImportError:
    # Manifests are rewritten where Ansible runs, which needs it as well.
    SafeDumper = object  # type: ignore[misc, assignment]

from ansible_collections.zerocopy.rdma.plugins.module_utils._kube.yaml_values import (
    Loader,
    TextError,
    aliased,
    aligned,
    read,
    same,
)

_LAYOUT = "cannot be changed in place, because of anchors, merge keys or its layout"
# Where in the text, and what is to be there.
Edit = Tuple[int, int, str]


class _Dumper(SafeDumper):
    indented = True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless and not self.indented)

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _FlatDumper(_Dumper):
    indented = False


def changed(text: str, old: Sequence[Any], new: Sequence[Any]) -> str:
    """The text with ``new`` instead of ``old``, which are the values of its documents. Raises TextError."""
    nodes, starts = _composed(text)
    if not len(old) == len(new) == len(nodes):
        raise TextError(_LAYOUT)
    if not nodes:
        # Comments alone are in no document.
        return text
    layout = _Layout(text)
    pieces: List[str] = []
    stuck: List[int] = []
    for place, (node, before, after) in enumerate(zip(nodes, old, new)):
        start, end = starts[place : place + 2]
        piece = text[start:end]
        if not same(before, after):
            # Each by itself, so that what is in the way of one is not looked for in all of them.
            try:
                piece = _piece(text, start, end, node, before, after, layout)
            except TextError:
                stuck.append(place)
        pieces.append(piece)
    if stuck:
        raise TextError(_LAYOUT, stuck)
    return "".join(pieces)


def _composed(text: str) -> Tuple[List[Any], List[int]]:
    """The nodes of the documents, and where each of these begins, with the end of the last one."""
    loader: Any = Loader(text)
    nodes: List[Any] = []
    starts: List[int] = []
    try:
        while loader.check_node():
            starts.append(loader.peek_event().start_mark.index if nodes else 0)
            nodes.append(loader.get_node())
    finally:
        loader.dispose()
    return nodes, [*starts, len(text)]


def _piece(text: str, start: int, end: int, node: Any, old: Any, new: Any, layout: _Layout) -> str:
    """The text of one document, which is that from ``start`` to ``end``, with a new value. Raises TextError."""
    editor = _Editor(text, aliased([node]), layout)
    editor.value(node, old, new)
    done = editor.done(start, end)
    try:
        # The next document begins at a line of its own.
        right = same(read(done), [new]) and (end == len(text) or done.endswith(("\n", "\r")))
    except TextError:
        right = False
    if not right:
        raise TextError(_LAYOUT)
    return done


class _Layout:
    """What all new lines of a text have in common: how they end, and where lists below keys begin."""

    def __init__(self, text: str) -> None:
        self.newline = "\r\n" if "\r\n" in text else "\n"
        # A list below its key at the same column, or further in?
        self.dumper = _FlatDumper if re.search(r"^( *)[\w./-]+:[ ]*\r?\n(?:\s*#.*\n)*\1- ", text, re.M) else _Dumper


class _Editor:
    def __init__(self, text: str, shared: Set[int], layout: _Layout) -> None:
        self.text, self.shared = text, shared
        self.edits: Dict[Edit, None] = {}
        self.newline, self.dumper = layout.newline, layout.dumper

    def done(self, first: int, final: int) -> str:
        result, last = [], first
        for start, end, new in sorted(self.edits, key=lambda edit: edit[:2]):
            if start < last:
                raise TextError(_LAYOUT)
            result += [self.text[last:start], new]
            last = end
        return "".join([*result, self.text[last:final]])

    def _alone(self, node: Any) -> None:
        """:raises TextError: an alias has it in a second place, for which the change may not be right."""
        if id(node) in self.shared:
            raise TextError(_LAYOUT)

    def _edit(self, start: int, end: int, new: str) -> None:
        self.edits[start, end, new.replace("\r\n", "\n").replace("\n", self.newline)] = None

    def _block(self, value: Any, column: int) -> str:
        """Lines of a value, the first without its indentation, the last without its end."""
        dumped = yaml.dump(value, Dumper=self.dumper, sort_keys=False, width=float("inf"), allow_unicode=True)
        return dumped.rstrip("\n").replace("\n", "\n" + " " * column)

    def _inline(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        dumped: str = yaml.dump([value], Dumper=self.dumper, width=float("inf"), allow_unicode=True)
        return dumped[2:].rstrip("\n")

    def _in_flow(self, value: Any, style: Any) -> str:
        """The same in brackets or braces, where a comma ends a plain text; quoted as the text before it."""
        if not isinstance(value, str) or style == '"':
            return json.dumps(value, ensure_ascii=False)
        if style == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        dumped: str = yaml.dump([value], Dumper=self.dumper, default_flow_style=True, width=float("inf"))
        return dumped.rstrip("\n")[1:-1]

    def value(self, node: Any, old: Any, new: Any) -> None:
        """Change what is at a node."""
        if same(old, new):
            return
        self._alone(node)
        if isinstance(node, yaml.CollectionNode) and node.flow_style:
            self._edit(node.start_mark.index, node.end_mark.index, self._flow(node, old, new))
        elif isinstance(node, yaml.MappingNode) and isinstance(new, dict) and new:
            pairs = list(node.value)
            starts = [key.start_mark.index for key, _value in pairs]
            ends = [self._end(key, value) for key, value in pairs]
            self._entries(starts, ends, self._map_steps(pairs, old, new, node.start_mark.column))
        elif isinstance(node, yaml.SequenceNode) and isinstance(new, list) and new:
            starts, ends, before = [], [], node.start_mark.index
            for entry in node.value:
                starts.append(max(self.text.rfind("-", before, entry.start_mark.index), before))
                ends.append(self._end(entry, entry))
                before = ends[-1]
            self._entries(starts, ends, self._list_steps(node.value, old, new, node.start_mark.column))
        else:
            self._scalar(node, old, new)

    def _scalar(self, node: Any, old: Any, new: Any) -> None:
        start, end = node.start_mark.index, self._end(node, node)
        style = getattr(node, "style", None)
        if isinstance(new, (dict, list)) and new:
            # A key without a value; below any other value there is nothing to keep either, but nobody writes that.
            if old is not None:
                raise TextError(_LAYOUT)
            new_text = yaml.dump(new, Dumper=self.dumper, default_flow_style=True, width=float("inf")).rstrip("\n")
        elif isinstance(new, str) and style in ("'", '"'):
            new_text = json.dumps(new, ensure_ascii=False) if style == '"' else "'" + new.replace("'", "''") + "'"
        elif isinstance(new, str) and style in ("|", ">") and isinstance(old, str):
            new_text = _replaced(self.text[start:end], old, new)
        else:
            new_text = self._inline(new)
        space = " " if start and self.text[start - 1] in ":-" else ""
        self._edit(start, end, space + new_text)

    def _end(self, first: Any, last: Any) -> int:
        """Where the text of an entry ends, which is before comments and empty lines that follow it."""
        if last.start_mark.index < first.start_mark.index:
            return self._line_end(first.end_mark.index)
        while isinstance(last, yaml.CollectionNode) and not last.flow_style and last.value:
            entry = last.value[-1]
            key, value = entry if isinstance(entry, tuple) else (entry, entry)
            if value.start_mark.index < key.start_mark.index:
                return self._line_end(key.end_mark.index)
            first, last = key, value
        end = max(first.end_mark.index, last.end_mark.index)
        return self._stripped(end)

    def _line_end(self, place: int) -> int:
        found = self.text.find("\n", place)
        return self._stripped(len(self.text) if found < 0 else found)

    def _stripped(self, end: int) -> int:
        """Where the text before ``end`` ends without white space."""
        while end and self.text[end - 1].isspace():
            end -= 1
        return end

    def _next_line(self, place: int) -> int:
        found = self.text.find("\n", place)
        return len(self.text) if found < 0 else found + 1

    def _map_steps(
        self, pairs: Sequence[Tuple[Any, Any]], old: Mapping[str, Any], new: Mapping[str, Any], column: int
    ) -> List[Any]:
        keys = list(old)
        if [key.value for key, _value in pairs] != [str(key) for key in keys]:
            raise TextError(_LAYOUT)
        steps: List[Any] = []
        for place, key in enumerate(keys):
            if key not in new:
                self._alone(pairs[place][1])
                steps.append(None)
            else:
                node, before, after = pairs[place][1], old[key], new[key]
                steps.append(lambda node=node, before=before, after=after: self.value(node, before, after))
        return self._with_new(steps, [key if key in old else None for key in new], keys, list(new.items()), column)

    def _list_steps(self, nodes: Sequence[Any], old: Sequence[Any], new: Sequence[Any], column: int) -> List[Any]:
        pairs = aligned(old, new)
        steps: List[Any] = [None] * len(old)
        order: List[Any] = []
        for before, after in pairs:
            if before is not None and after is not None:
                node, first, second = nodes[before], old[before], new[after]
                steps[before] = lambda node=node, first=first, second=second: self.value(node, first, second)
            if after is not None:
                order.append(before)
        return self._with_new(steps, order, list(range(len(old))), [(None, value) for value in new], column)

    def _with_new(
        self, steps: List[Any], order: Sequence[Any], known: Sequence[Any], values: Sequence[Any], column: int
    ) -> List[Any]:
        """``steps`` with the texts of new entries, each after the known one before it."""
        after: Dict[int, List[str]] = {}
        places = {name: place for place, name in enumerate(known)}
        last = -1
        for name, (key, value) in zip(order, values):
            if name is None:
                entry = {key: value} if key is not None else [value]
                after.setdefault(last, []).append(self._block(entry, column).lstrip(" "))
            else:
                last = places[name]
        return [steps, after, column]

    def _entries(self, starts: Sequence[int], ends: Sequence[int], plan: List[Any]) -> None:
        steps: List[Callable[[], None]]
        steps, after, column = plan
        kept = {place for place, step in enumerate(steps) if step is not None}
        for place, step in enumerate(steps):
            if step is not None:
                step()
                continue
            line = self.text.rfind("\n", 0, starts[place]) + 1
            if not self.text[line : starts[place]].strip():
                self._edit(line, self._next_line(ends[place]), "")
            elif place + 1 < len(starts) and place + 1 in kept:
                # The first key after a dash: the next one takes its place, after the comments between them.
                self._edit(starts[place], starts[place + 1], self._comments(ends[place], starts[place + 1]))
            else:
                raise TextError(_LAYOUT)
        indent = " " * column
        for place, texts in after.items():
            if place < 0:
                line = self.text.rfind("\n", 0, starts[0]) + 1
                if self.text[line : starts[0]].strip():
                    self._edit(starts[0], starts[0], "".join(f"{text}\n{indent}" for text in texts))
                else:
                    self._edit(line, line, "".join(f"{indent}{text}\n" for text in texts))
                continue
            at = self._next_line(ends[place])
            lines = "".join(f"{indent}{text}\n" for text in texts)
            ended = at == 0 or self.text[at - 1] == "\n"
            self._edit(at, at, lines if ended else "\n" + lines.rstrip("\n"))

    def _comments(self, start: int, end: int) -> str:
        """What is between two entries, from the second line on, if there is any comment."""
        rest = self.text[min(self._next_line(start), end) : end]
        return rest.lstrip(" ") if "#" in rest else ""

    def _flow(self, node: Any, old: Any, new: Any) -> str:
        """The text of a value in braces or brackets, entry by entry."""
        entries = [entry if isinstance(entry, tuple) else (entry, entry) for entry in node.value]
        if any(value.start_mark.index < key.start_mark.index for key, value in entries):
            raise TextError(_LAYOUT)
        if type(old) is not type(new):
            return json.dumps(new, ensure_ascii=False)
        found: List[Tuple[int, str]] = []
        # In JSON everything is quoted.
        style = getattr(entries[0][0], "style", None) if entries else None
        if isinstance(new, dict):
            places = {key: place for place, key in enumerate(old)}
            for key, value in new.items():
                if key in places:
                    place = places[key]
                    found.append((place, self._flow_entry(entries[place], old[key], value)))
                else:
                    name = self._in_flow(key, style)
                    found.append((-1, f"{name}: {json.dumps(value, ensure_ascii=False)}"))
        else:
            for before, after in aligned(old, new):
                if after is not None and before is not None:
                    found.append((before, self._flow_entry(entries[before], old[before], new[after])))
                elif after is not None:
                    found.append((-1, self._in_flow(new[after], style)))
        return self._joined(node, entries, found)

    def _flow_entry(self, entry: Tuple[Any, Any], old: Any, new: Any) -> str:
        key, value = entry
        start, end = value.start_mark.index, value.end_mark.index
        head = self.text[key.start_mark.index : start] if key is not value else ""
        if same(old, new):
            return head + self.text[start:end]
        # Where it had no value.
        head += " " if head.endswith(":") else ""
        self._alone(value)
        if isinstance(value, yaml.CollectionNode):
            return head + self._flow(value, old, new)
        return head + self._in_flow(new, value.style)

    def _joined(self, node: Any, entries: Sequence[Tuple[Any, Any]], found: Sequence[Tuple[int, str]]) -> str:
        start, end = node.start_mark.index, node.end_mark.index
        if not found:
            return self.text[start] + self.text[end - 1]
        first = self.text[start + 1 : entries[0][0].start_mark.index] if entries else ""
        last = self.text[entries[-1][1].end_mark.index : end - 1] if entries else ""
        parts, before = [self.text[start], first], None
        for place, text in found:
            if before is not None:
                between = ", "
                if before >= 0 and place == before + 1:
                    between = self.text[entries[before][1].end_mark.index : entries[place][0].start_mark.index]
                parts.append(between)
            parts.append(text)
            before = place
        return "".join([*parts, last, self.text[end - 1]])


def _replaced(text: str, old: str, new: str) -> str:
    """A text of several lines in which words were replaced, the lines of the old one being in it as they are."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) != len(after):
        raise TextError(_LAYOUT)
    for line, other in zip(before, after):
        if line != other:
            text = text.replace(line, other)
    return text
