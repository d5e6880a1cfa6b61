"""Compares a report with a recorded one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mdvec.errors import UsageError
from mdvec.evaluation.metrics import METRICS
from mdvec.evaluation.report import EvalReport

DEFAULT_TOLERANCE = 0.01
"""How far a metric may fall, unless the record names a tolerance for it."""

# A record holds as many digits as are printed.
_ROUNDING = 1e-6
_HINT = "A record is what 'mdvec eval … --format json --output F' writes."


class _Mean(msgspec.Struct, frozen=True):
    mean: float


class _RecordedSystem(msgspec.Struct, frozen=True):
    system: str
    metrics: Mapping[str, _Mean]


class _RecordedSet(msgspec.Struct, frozen=True):
    name: str
    systems: tuple[_RecordedSystem, ...]
    min_grade: int = 1


class Record(msgspec.Struct, frozen=True):
    """The part of a recorded report that is compared.

    Attributes:
        sets: What was measured.
        tolerance: How far each metric may fall.
    """

    sets: tuple[_RecordedSet, ...]
    tolerance: Mapping[str, float] = msgspec.field(default_factory=dict)


class Verdict(Struct, frozen=True):
    """The result of a comparison.

    Attributes:
        failures: A line for each value that fell too far or was not measured; empty when the gate is open.
        better: A line for each value that is better than recorded.
        passed: Number of values that are as good as recorded or inside their tolerance.
    """

    failures: tuple[str, ...] = ()
    better: tuple[str, ...] = ()
    passed: int = 0


def read_record(path: Path) -> Record:
    """Read a recorded report.

    Raises:
        UsageError: If the file is not a record.
    """
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8-sig"))
        record = msgspec.convert(value, Record)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors too
        msg = f"{path} is not a report of 'mdvec eval': {error}"
        raise UsageError(msg, hint=_HINT) from error
    if not any(system.metrics for each in record.sets for system in each.systems):
        msg = f"{path} records no value"
        raise UsageError(msg, hint=_HINT)
    for name, system, metric, value in _recorded(record):
        if not 0 <= value <= 1:  # nothing is less than NaN: such a record would always pass
            msg = f"{path}: {metric} of {system} on {name} cannot be {value}"
            raise UsageError(msg, hint=_HINT)
    for metric, tolerance in record.tolerance.items():
        if metric not in METRICS or not tolerance >= 0:
            msg = f"{path}: the tolerance of {metric!r} cannot be {tolerance}"
            raise UsageError(
                msg, hint=f'Write "tolerance": {{"nDCG@10": 0.01}}; metrics are {", ".join(METRICS)}.'
            )
    return record


def compare(report: EvalReport, record: Record) -> Verdict:
    """Compare a report with a recorded one, value by value.

    A value that was recorded and is not measured is a failure; one that was not recorded is ignored.
    """
    grades = {each.set.name: each.set.min_grade for each in report.sets}
    failures = [
        f"{each.name} is recorded with --min-grade {each.min_grade}, measured with {grades[each.name]}"
        for each in record.sets
        if grades.get(each.name, each.min_grade) != each.min_grade
    ]
    if failures:
        return Verdict(tuple(failures))
    now = {
        (each.set.name, system.system, metric): interval.mean
        for each in report.sets
        for system in each.systems
        for metric, interval in system.metrics.items()
    }
    better: list[str] = []
    passed = 0
    for name, system, metric, recorded in _recorded(record):
        value = now.get((name, system, metric))
        tolerance = record.tolerance.get(metric, DEFAULT_TOLERANCE)
        what = f"{name} {system} {metric}"
        if value is None:
            failures.append(f"{what} is recorded ({recorded:.4f}) and was not measured")
        elif value < recorded - tolerance - _ROUNDING:
            failures.append(f"{what} is {value:.4f}, recorded {recorded:.4f}: more than {tolerance:g} below")
        else:
            passed += 1
            if value > recorded + _ROUNDING:
                better.append(f"{what} is {value:.4f}, recorded {recorded:.4f}")
    return Verdict(tuple(failures), tuple(better), passed)


def _recorded(record: Record) -> Iterator[tuple[str, str, str, float]]:
    for each in record.sets:
        for system in each.systems:
            for metric, value in system.metrics.items():
                yield each.name, system.system, metric, value.mean
