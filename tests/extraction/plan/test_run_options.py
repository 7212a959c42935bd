"""The options of a run: each checks its own range, and flows and commands take their ranges from here."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any, get_args

import pytest
from tests.support.cases import each

from cinnabar.apps.cli.options import RUN_OPTIONS
from cinnabar.engine.settings import EFFORTS, effort_of
from cinnabar.errors import UsageError
from cinnabar.extraction.plan.run_options import OPTIONS, EffortName, RunOptions, RunPlan


@each(
    "wrong, message",
    [
        ({"effort": "huge"}, "--effort: expected one of instant, low, medium, high, got 'huge'"),
        ({"steps": 65}, "steps: expected 1 to 64, got 65"),
        ({"on_missing": "drop"}, "--on missing: expected one of quarantine, guess, got 'drop'"),
        ({"min_confidence": 80}, "--min-confidence: expected 0 to 1, got 80"),
        ({"min_confidence": float("nan")}, "--min-confidence: expected 0 to 1, got nan"),
        ({"limit": 0}, "--limit: expected at least 1, got 0"),
        ({"context": 3}, "context: expected at least 64, got 3"),
        ({"workers": 0}, "workers: expected at least 1, got 0"),
        ({"batch": -1}, "--batch: expected at least 1, got -1"),
        ({"retry_quarantined": "perhaps"}, "--retry-quarantined: expected true or false, got 'perhaps'"),
        ({"day_first": "maybe"}, "--day-first: expected one of yes, no, got 'maybe'"),
        ({"worker": 1}, "worker: expected one of effort, steps, "),
        ({"below": 1.5}, "--below: expected 0 to 1, got 1.5"),
        ({"max_error_rate": 2.0}, "--max-error-rate: expected 0 to 1, got 2.0"),
        ({"concurrency": 2}, "concurrency is gone: "),
    ],
)
def test_an_option_out_of_range_is_named_as_on_the_command_line(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        RunPlan.of(**wrong)
    assert str(error.value).startswith(message)


def test_the_levels_and_steps_are_those_of_the_engine() -> None:
    assert get_args(EffortName) == tuple(EFFORTS)
    assert effort_of("low", 64).steps == 64
    with pytest.raises(UsageError):
        effort_of("low", 65)


def test_the_order_of_dates_is_part_of_a_records_key_where_it_is_said() -> None:
    keys = [RunOptions(day_first=order).fingerprint("model") for order in (None, "yes", "no")]
    assert keys[0] == RunOptions().fingerprint("model")
    assert len({*keys}) == 3


def test_every_option_has_a_description_and_survives_a_pickle() -> None:
    assert all(field.description for field in RunOptions.model_fields.values())
    changed = RunOptions(limit=3, effort="high")
    assert pickle.loads(pickle.dumps(changed)) == changed


@pytest.mark.parametrize("module", ["plan.run_options", "filling.refilling"])  # parsers on a cluster get the second
def test_importing_the_options_or_a_stored_record_loads_no_torch(module: str) -> None:
    code = f"import sys, cinnabar.extraction.{module} as found; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_commands_take_defaults_and_help_from_the_options() -> None:
    from typer.main import get_command

    from cinnabar.apps.cli.main import app

    commands: Any = get_command(app)
    options = {option.name: option for option in commands.commands["extract"].command.params}
    for name, field in RunOptions.model_fields.items():
        if name in RUN_OPTIONS:
            assert (options[name].default, options[name].help) == (field.default, field.description), name


@pytest.mark.parametrize(
    ("module", "flow", "without"),
    [("extract", "extract_folder", set()), ("backfill", "backfill_folder", {"retry_quarantined"})],
)
def test_flows_take_parameters_with_ranges_and_descriptions_from_the_options(
    module: str, flow: str, without: set[str]
) -> None:
    from importlib import import_module

    found = getattr(import_module(f"cinnabar.flows.{module}"), flow)
    own = RunOptions.model_json_schema()["properties"]
    parameters = found.parameters.properties
    assert set(own) - set(parameters) == without and "run_options" not in parameters
    for name in set(own) - without:
        described = {key: part for key, part in parameters[name].items() if key not in ("position", "title")}
        assert described == {key: part for key, part in own[name].items() if key != "title"}, name


def test_a_plan_sorts_what_was_said_into_its_groups_and_survives_a_pickle() -> None:
    plan = RunPlan.of(["invoice"], "out", model="mercury-2", budget=5, effort="high", below=None)
    assert plan.budget == "5" and plan.options == RunOptions(effort="high")
    assert (plan.schemas, str(plan.out), plan.model, plan.below) == (["invoice"], "out", "mercury-2", None)
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_no_two_groups_have_an_option_of_one_name() -> None:
    groups = (RunPlan, RunOptions)
    assert len(OPTIONS) == sum(len(group.model_fields) for group in groups)
