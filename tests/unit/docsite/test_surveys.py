# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Surveys of AWX in the documentation: they ask for variables that there are, and offer what these take."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.zerocopy.rdma.plugins.module_utils._inventory import variables
from ansible_collections.zerocopy.rdma.tests.docsite import examples

PAGE = "docs/awx.md"
# awx/api/views/__init__.py, JobTemplateSurveySpec.
KEYS = {"question_name", "question_description", "variable", "type", "choices", "default", "required", "min", "max"}
CHOOSING = ("multiplechoice", "multiselect")
DOCUMENTS = [json.loads(block.text) for block in examples.blocks("json") if block.page == PAGE]
QUESTIONS = [question for document in DOCUMENTS for question in document.get("spec", [])]


def answers(question: dict[str, Any]) -> list[Any]:
    """What AWX would hand on: each choice, or the default; of ``multiselect`` a list of them."""
    if question["type"] == "multiselect":
        return [[choice] for choice in question["choices"]] + [question["default"].splitlines()]
    return [*question.get("choices", []), question["default"]]


def test_there_are_surveys() -> None:
    assert len([document for document in DOCUMENTS if "spec" in document]) >= 2


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question["variable"]))
def test_each_answer_is_accepted(question: dict[str, Any]) -> None:
    assert set(question) <= KEYS
    assert question["type"] in (*CHOOSING, "text")
    known = variables.options_of()
    name = question["variable"]
    assert name in known
    assert name not in variables.results(), "set by plays, not by users"
    for answer in answers(question):
        typed, problems = variables.converted({name: answer}, known)
        assert problems == [], answer
        assert typed[name] is not None
    defaults = question["default"].splitlines()
    assert set(defaults) <= set(question.get("choices", defaults))


@pytest.mark.parametrize("question", [each for each in QUESTIONS if each["type"] in CHOOSING], ids=str)
def test_a_survey_offers_all_that_a_variable_takes(question: dict[str, Any]) -> None:
    option = variables.options_of()[question["variable"]]
    every = ["true", "false"] if option["type"] == "bool" else option["choices"]
    assert question["choices"] == every
