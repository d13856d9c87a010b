# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Values of a sentence that Prometheus fills in when it sends an alert, in the language of its templates.

https://prometheus.io/docs/prometheus/latest/configuration/template_reference/
"""

from __future__ import annotations

import math
from itertools import takewhile
from typing import Mapping, Sequence

VALUE = "$value"
# A host's name comes from the node, and people copy commands: what is in no name does not get into a shell.
_IN_NO_NAME = "[^A-Za-z0-9._-]"


def label(name: str) -> str:
    """The value of one of the alert's labels."""
    return f"{{{{ $labels.{name} }}}}"


def argument(name: str) -> str:
    """The same as a word of a command."""
    return f'{{{{ reReplaceAll "{_IN_NO_NAME}" "_" $labels.{name} }}}}'


def asked(expression: str, labels: Sequence[str]) -> str:
    """What gives the result of a query, in which ``%s`` stands for the matchers of these labels of the alert."""
    matchers = ",".join(f"{name}=%q" for name in labels)
    values = " ".join([f"$labels.{name}" for name in labels] * expression.count("%s"))
    return f"printf `{expression.replace('%s', matchers)}` {values} | query"


class Number(float):
    """A number that the template has, written as Python would write one with the same format."""

    source: str

    def __new__(cls, source: str = VALUE) -> Number:
        """``source`` is what gives the number in the template."""
        # Not equal to any number, so that a sentence takes its general form.
        made = super().__new__(cls, math.nan)
        made.source = source
        return made

    def __format__(self, form: str) -> str:
        verb = {"": ".0f", "g": ".6g"}.get(form, form)
        return f'{{{{ {self.source} | printf "%{verb}" }}}}'


def number(expression: str, labels: Sequence[str]) -> Number:
    """The number that a query (as in ``asked``) gives, which has to have a result."""
    return Number(f"{asked(expression, labels)} | first | value")


def word(words: Mapping[int, str], other: str, source: str = VALUE) -> str:
    """The word for a number."""
    cases = "{{ else ".join(f"if eq {source} {key}.0 }}}}{each}" for key, each in words.items())
    return f"{{{{ {cases}{{{{ else }}}}{other}{{{{ end }}}}"


def asked_word(query: str, words: Mapping[int, str], other: str) -> str:
    """The word for the number that a query gives, ``other`` also where it gives none."""
    found = word(words, other, "$number")
    return f"{{{{ with {query} }}}}{{{{ $number := . | first | value }}}}{found}{{{{ else }}}}{other}{{{{ end }}}}"


def _shared(texts: Sequence[str]) -> str:
    """What all begin with."""
    return "".join(letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts)))


def by(conditions: Sequence[str], texts: Sequence[str]) -> str:
    """The text whose condition holds first, the last one if none does; what all texts share is said once."""
    before = _shared(texts)
    after = _shared([text[len(before) :][::-1] for text in texts])[::-1]
    differing = [text[len(before) : len(text) - len(after)] for text in texts]
    cases = "{{ else ".join(f"if {condition} }}}}{text}" for condition, text in zip(conditions, differing))
    return f"{before}{{{{ {cases}{{{{ else }}}}{differing[-1]}{{{{ end }}}}{after}"


def of_ports(query: str, none: str, single: str, many: str, named: str) -> str:
    """A text by the number of ports that a query gives; ``named`` stands for their names in it."""
    each = "{{ if $place }}, {{ end }}{{ $port.Labels.device }}/{{ $port.Labels.port }}"
    every = f'{{{{ range $place, $port := sortByLabel "device" $ports }}}}{each}{{{{ end }}}}'
    text = by(["eq (len $ports) 0", "eq (len $ports) 1"], [none, single, many])
    return f"{{{{ $ports := {query} }}}}{text.replace(named, every)}"
