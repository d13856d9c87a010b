# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this plugin util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What filters read of the inventory (``hostvars``) and of the variables of a play."""

from __future__ import annotations

import base64
import contextlib
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.vars.hostvars import HostVarsVars
from jinja2 import Undefined, UndefinedError

from ansible_collections.zerocopy.rdma.plugins.module_utils._facts import read
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.model import Facts
from ansible_collections.zerocopy.rdma.plugins.module_utils._facts.read import FactsError
from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables as plan_variables
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.problem import Problem

Hostvars = Mapping[str, Mapping[str, Any]]

# In the variables of a play these can only be templates, of which the value of one host says nothing about the others.
_NOT_OF_PLAY = ("rdma_links_addresses", "rdma_links_host_number", "rdma_links_ports")

# Characters of what a host said that a table has room for.
_LONGEST = 200


class _BrokenError(Exception):
    """A value that cannot be worked out."""


def _plain(value: Any) -> Any:
    """A value with everything in it worked out. Raises _BrokenError."""
    if isinstance(value, Undefined):
        # Its text is not to be had without the exception.
        try:
            str(value)
        except (AnsibleError, UndefinedError) as error:
            raise _BrokenError(str(error)) from error
    if isinstance(value, str) and "{{" in value:
        raise _BrokenError(f"something in {value!r} is undefined")
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in value}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _value(variables: Mapping[str, Any], name: str) -> Any:
    try:
        return _plain(variables[name])
    except (AnsibleError, UndefinedError) as error:
        raise _BrokenError(" ".join(str(error).split())) from error


def options(context: Mapping[str, Any]) -> plan_variables.Options:
    """The specifications of all variables. The default of ``rdma_set`` is its value in this play.

    ``context`` is Jinja's.
    """
    known = plan_variables.options_of()
    name = plan_variables.SET
    with contextlib.suppress(_BrokenError):
        return {**known, name: {**known[name], "default": _value(context, name)}} if name in context else known
    return known


def raw(variables: Mapping[str, Any], name: str) -> Any:
    """A variable as it was set, not looked through for templates: ``None`` where it is not."""
    return getattr(variables, "_vars", variables).get(name)


def of_play(context: Mapping[str, Any], hostvars: Hostvars) -> Dict[str, Any]:
    """What a play says instead of the inventory, for all hosts. ``context`` is Jinja's."""
    found: Dict[str, Any] = {}
    host = str(context.get("inventory_hostname"))
    known_options = options(context)
    not_of_play = {*_NOT_OF_PLAY, *plan_variables.of_playbooks()}.difference(plan_variables.OF_ROLES)
    names = [name for name in known_options if name in context and name not in not_of_play]
    known = hostvars[host] if names and host in hostvars else {}
    for name in names:
        # What cannot be worked out is told when it is the inventory's, and by the role itself when it is the play's.
        with contextlib.suppress(_BrokenError):
            value = _value(context, name)
            # Where the inventory says nothing of this host, a role's default is no word of the play's either: it would
            # win over what the inventory says of other hosts.
            before = _value(known, name) if name in known else known_options[name].get("default")
            if value != before:
                found[name] = value
    return found


def _worked_out(variables: Mapping[str, Any], names: Iterable[str]) -> Tuple[Dict[str, Any], List[Problem]]:
    """These variables, and what is wrong with those that give no value. Never the results of earlier tasks."""
    own: Dict[str, Any] = {}
    broken: List[Problem] = []
    for name in names:
        if name not in plan_variables.results():
            try:
                own[name] = _value(variables, name)
            except _BrokenError as error:
                broken.append(Problem(name, f"cannot be worked out: {error}"))
    return own, broken


def of_host(
    variables: Mapping[str, Any], play: Mapping[str, Any], wanted: Callable[[str], bool]
) -> Tuple[Dict[str, Any], List[Problem]]:
    """The wanted variables of one host, those of ``play`` first, and what is wrong with those that give no value.

    Never the results of earlier tasks, whatever their names begin with.
    """
    own, broken = _worked_out(variables, filter(wanted, map(str, variables)))
    own.update({name: value for name, value in play.items() if wanted(name)})
    return own, broken


def of_task(
    context: Mapping[str, Any], variables: Mapping[str, Any], wanted: Callable[[str], bool]
) -> Tuple[str, Dict[str, Any]]:
    """Name and wanted variables of one host of ``hostvars``.

    The task's own host has those of the play and the role as well, which ``hostvars`` lacks. ``context`` is Jinja's.
    Raises AnsibleFilterError.
    """
    host = str(variables["inventory_hostname"])
    is_own = isinstance(variables, HostVarsVars) and context.get("inventory_hostname") == host
    source = context if is_own else variables
    names = [name for name in plan_variables.options_of() if wanted(name) and name in source]
    own, broken = _worked_out(source, names)
    if broken:
        raise AnsibleFilterError(f"{host}: {broken[0].variable} {broken[0].text}")
    return host, own


def typed(host: str, own: Mapping[str, Any], known: plan_variables.Options) -> Dict[str, Any]:
    """The variables of one host in the types that these specifications give them. Raises AnsibleFilterError."""
    values, problems = plan_variables.converted(own, known)
    if problems:
        raise AnsibleFilterError(f"{host}: {problems[0].variable} {problems[0].text}")
    return values


def read_facts(host: str, value: Any) -> Facts:
    """The RDMA facts that a host has sent. Raises AnsibleFilterError."""
    try:
        return read.facts(value)
    except FactsError as error:
        raise AnsibleFilterError(f"{host}: its RDMA facts cannot be used: {error}") from error


def silence_of(host: str, variables: Mapping[str, Any]) -> str:
    """Why this run has no facts of a host, ``unreachable: `` or ``failed: `` and a line; empty if nobody knows.

    What names the host in it is left out, so that hosts with one fault are alike.
    """
    try:
        text = base64.b64decode(str(raw(variables, plan_variables.SILENCE) or ""), validate=True).decode()
    except ValueError:
        return ""
    line = (text.splitlines() or [""])[0]
    for name in dict.fromkeys([str(raw(variables, "ansible_host") or host), host]):
        line = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", "<host>", line)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def facts_of(variables: Mapping[str, Any]) -> Tuple[Optional[Facts], str]:
    """The RDMA facts of one host, or what is wrong with them: nobody else's plan or report depends on that.

    A host that this run has asked in vain has none, whatever a fact cache has of it.
    """
    if raw(variables, plan_variables.SILENT):
        return None, ""
    try:
        return plan_variables.facts_of(variables), ""
    except FactsError as error:
        return None, str(error)
