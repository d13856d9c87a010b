# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Which small bugs in the library its unit tests notice, and which lines they run.

A seeded sample of each room is mutated, one bug at a time, in a copy of the checkout, and the test files that run the
mutated line are run, in a fork, so that nothing is imported anew. Neither mutmut nor cosmic-ray does that here: mutmut
wants the path of a file to be the name of its module, which it is not in a collection, and cosmic-ray changes the
checkout in place, starts an interpreter for each mutant, and knows one test command for all of them.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import copy
import os
import py_compile
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

import coverage
import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
COPY = CHECKOUT / "build/mutants/ansible_collections/zerocopy/rdma"
LIBRARY = "plugins/module_utils"
DATA = CHECKOUT / "build/mutants/coverage"
# Wall time for each second of CPU time that a mutant may use, on a machine that has much else to do.
IDLE = 40

COMPARED: dict[type, type] = {ast.Eq: ast.NotEq, ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.In: ast.NotIn, ast.Is: ast.IsNot}
OPERATED: dict[type, type] = {ast.Add: ast.Sub, ast.Mult: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift}
NAMED = {"all": "any", "min": "max"}
COMPARED.update({new: old for old, new in COMPARED.items()})
OPERATED.update({new: old for old, new in OPERATED.items()})
NAMED.update({new: old for old, new in NAMED.items()})


class Mutant(NamedTuple):
    path: str
    line: int
    text: str
    source: Callable[[], str]


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What stands for a node in its mutants."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        yield ast.Compare(node.left, [COMPARED[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATED and not _text(node):
        yield ast.BinOp(node.left, OPERATED[type(node.op)](), node.right)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMED:
        yield ast.Call(ast.Name(NAMED[node.func.id]), node.args, node.keywords)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield changed
    elif isinstance(node, (ast.Raise, ast.AugAssign)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, (ast.Continue, ast.Break)):
        yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def _text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, (ast.JoinedStr, ast.List)) or isinstance(getattr(side, "value", 0), str)
        for side in (node.left, node.right)
    )


def _places(node: ast.AST, line: int = 1) -> Iterator[tuple[int, ast.AST, str, int | None, ast.AST]]:
    """Every node that may be mutated: the line of its statement, the only one sure to be traced, and where it hangs.

    Annotations are left out: nothing evaluates them.
    """
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST):
                inside = child.lineno if isinstance(child, ast.stmt) else line
                yield inside, node, name, index, child
                yield from _places(child, inside)


def mutants(path: str) -> Iterator[Mutant]:
    """All mutants of a file."""
    tree = ast.parse((COPY / path).read_text(encoding="utf-8"))

    def source(node: ast.AST, name: str, index: int | None, old: ast.AST, new: ast.AST) -> str:
        for child in (new, old):
            if index is None:
                setattr(node, name, child)
            else:
                getattr(node, name)[index] = child
            if child is new:
                changed = ast.unparse(ast.fix_missing_locations(tree))
        return changed

    for line, node, name, index, old in _places(tree):
        for new in _replacements(old):
            ast.copy_location(new, old)
            text = "  ->  ".join(ast.unparse(one).splitlines()[0] for one in (old, new))
            yield Mutant(path, line, text, partial(source, node, name, index, old, new))


def _forked(call: Callable[[], int], seconds: float) -> tuple[int, float]:
    """What ``call`` returns in a process of its own, 124 where it takes too long, and its CPU time in seconds.

    The limit is CPU time of each process, and that of all which the child has waited for counts, too: a machine that is
    busy takes longer and uses no more of it. A child that only sleeps ends at ``IDLE`` times as much wall time.
    """
    child = os.fork()
    if not child:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        signal.alarm(int(seconds * IDLE) + 1)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        status = 99
        with contextlib.suppress(BaseException):
            status = call()
        os._exit(status)
    _pid, waited, usage = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    status = 124 if os.WIFSIGNALED(waited) else os.WEXITSTATUS(waited)
    return status, usage.ru_utime + usage.ru_stime


def _pytest(tests: list[str]) -> int:
    return int(pytest.main(["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", *tests]))


def _covered(test: str) -> float:
    """Run a test file and keep which lines it ran. Returns how many seconds of CPU time it took."""

    def call() -> int:
        measured = coverage.Coverage(str(DATA), data_suffix=True, source=[str(COPY / LIBRARY)], context=test)
        measured.start()
        status = _pytest([test])
        measured.stop()
        measured.save()
        return status

    status, seconds = _forked(call, 900)
    if status:
        sys.exit(f"{test} fails without a bug: exit code {status}")
    return seconds


def _prepare() -> None:
    """Copy the checkout, and go there with what tests need imported already."""
    shutil.rmtree(DATA.parent, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (CHECKOUT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, COPY / name)
    # Compiled by content, since a mutant of the same second and size would be taken for the one before.
    compileall.compile_dir(COPY, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    os.chdir(COPY)
    sys.path.insert(0, str(COPY.parents[2]))
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    # For the playbooks that tests run: the copy has no link to itself in its build directory.
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(COPY.parents[2])
    # Imported once, before the processes that run tests are forked.
    import ansible.template  # noqa: F401
    import hypothesis  # noqa: F401
    import kubernetes.client  # noqa: F401


def _reaching(room: str) -> list[str]:
    """The test files that import something of a room, however indirectly; all of them without one."""
    from ansible_collections.zerocopy.rdma.tests.unit.test_rooms import REACHED

    found = []
    for path in sorted((COPY / "tests/unit").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"rdma\.plugins\.([\w.]+) import", text)
        sources = {name for name in REACHED if any(f"{name}.".startswith(f"{base}.") for base in named)}
        reached = sources.union(*(REACHED[name] for name in sources))
        if not room or any(f".{room}." in name for name in reached):
            found.append(str(path.relative_to(COPY)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--room", default="", help="only this one, such as _plan")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each room; 0 for the coverage alone")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    _prepare()
    seconds = {test: _covered(test) for test in _reaching(options.room)}
    everything = coverage.Coverage(str(DATA))
    everything.combine()
    data = everything.get_data()

    print(f"{'room':12} {'lines':>6} {'run':>6} {'mutants':>8} {'killed':>7} {'survived':>9} {'score':>6}")
    for room in sorted(path.name for path in (COPY / LIBRARY).iterdir() if path.is_dir()):
        files = sorted(str(path.relative_to(COPY)) for path in (COPY / LIBRARY / room).rglob("*.py"))
        analysed = [everything.analysis2(str(COPY / path)) for path in files]
        lines, missed = (sum(len(one[part]) for one in analysed) for part in (1, 3))
        run = f"{1 - missed / lines:6.1%}"
        if options.room not in ("", room):
            continue
        possible = [mutant for path in files for mutant in mutants(path)]
        sample = random.Random(f"{options.seed} {room}").sample(possible, min(options.sample, len(possible)))
        survived = []
        for mutant in sample:
            by_line = data.contexts_by_lineno(str(COPY / mutant.path))
            concerned = sorted(set(by_line.get(mutant.line, [])), key=seconds.__getitem__)
            file = COPY / mutant.path
            original = file.read_bytes()
            file.write_text(mutant.source(), encoding="utf-8")
            limit = 30 + 5 * sum(seconds[test] for test in concerned)
            if not concerned or _forked(partial(_pytest, concerned), limit)[0] == 0:
                survived.append(mutant)
            file.write_bytes(original)
        killed = len(sample) - len(survived)
        score = f"{killed / len(sample):6.0%}" if sample else ""
        print(f"{room:12} {lines:6} {run} {len(sample):8} {killed:7} {len(survived):9} {score}", flush=True)
        for mutant in sorted(survived, key=itemgetter(0, 1, 2)):
            print(f"    survived: {mutant.path}:{mutant.line}: {mutant.text}", flush=True)


if __name__ == "__main__":
    main()
