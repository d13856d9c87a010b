# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Hold the facts of a node against independent witnesses, or against other facts of the same node.

    witness.py --facts node1.json --witnesses node1.witnesses.json --gpu-vendor 1234 [--may-lack netdev_max_mtu]
    witness.py --facts simulated.json --ibstat ibstat.txt
    witness.py --facts node1.json --same-as node1-as-user.json [--ignore sources]

``--facts`` takes the dictionary ``ansible_facts.rdma`` as JSON, ``--witnesses`` what guest/witnesses.py printed.
Every disagreement is printed with both values; the exit code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from witnesses.claim import differences, disagreements
from witnesses.claims import all_claims, parse_answers
from witnesses.ibstat import ibstat_claims
from witnesses.observed import flatten

# Fewer claims mean that a witness was silent, and silence must not pass for agreement.
_FEWEST_CLAIMS = {"witnesses": 200, "ibstat": 9}


def main() -> int:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--witnesses", type=Path)
    parser.add_argument("--ibstat", type=Path, help="what ibstat said")
    parser.add_argument("--gpu-vendor", action="append", default=[], help="PCI vendor that counts as a GPU")
    parser.add_argument("--may-lack", action="append", default=[], help="property the facts may leave open")
    parser.add_argument("--same-as", type=Path, help="facts gathered in another way, which must be the same")
    parser.add_argument("--ignore", action="append", default=[], help="key that may differ between the two")
    options = parser.parse_args()
    facts = json.loads(options.facts.read_text())
    problems = []
    heard = {}
    if options.witnesses:
        heard["witnesses"] = list(all_claims(parse_answers(options.witnesses.read_text()), options.gpu_vendor))
    if options.ibstat:
        heard["ibstat"] = list(ibstat_claims(options.ibstat.read_text()))
    for source, claims in heard.items():
        problems += disagreements(flatten(facts), claims, options.may_lack)
        print(f"{options.facts.name}: {len(claims)} claims of {len({c.witness for c in claims})} witnesses")
        if len(claims) < _FEWEST_CLAIMS[source]:
            problems.append(f"only {len(claims)} claims from {source}: a witness was not heard")
    if options.same_as:
        other = json.loads(options.same_as.read_text())
        problems += [f"{where} ({options.same_as.name})" for where in differences(facts, other, options.ignore)]
    for problem in problems:
        print(f"{options.facts.name}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
