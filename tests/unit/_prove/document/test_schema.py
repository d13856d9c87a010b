# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from ansible_collections.zerocopy.rdma.tests.schemas import files


@pytest.mark.parametrize(("path", "text"), files().items(), ids=lambda value: getattr(value, "name", ""))
def test_the_published_schema_is_that_of_the_code(path: Path, text: str) -> None:
    assert path.read_text(encoding="utf-8") == text, "run python3 tests/schemas.py"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
