# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Kill a command, with all that it has started, as soon as another one prints what is waited for.

    python3 killed.py --when 'true/.*' --of 'kubectl get node node2 ...' -- ansible-playbook ...

Fails if the command ends by itself before, and shows what it said.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import time

# In a PID namespace, which ends with its first process: Ansible's workers have left its session and process group.
_ALONE = ("unshare", "--fork", "--pid", "--mount-proc", "--kill-child")


def main() -> int:
    """Run the command and kill it; the exit code is 0 if it was killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--when", required=True, help="regular expression for all that is printed")
    parser.add_argument("--of", required=True, help="the command that prints it")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([*_ALONE, *options.command], stdout=said, stderr=said)
        while process.poll() is None:
            seen = subprocess.run(shlex.split(options.of), capture_output=True, text=True, check=False).stdout.strip()
            if re.fullmatch(options.when, seen):
                process.kill()
                process.wait()
                print(f"killed at {seen}")
                return 0
            time.sleep(0.5)
        said.seek(0)
        print(f"ended with {process.returncode} before {options.when} was seen; last: {seen}\n{said.read()}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
