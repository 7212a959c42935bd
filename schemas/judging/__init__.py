"""The judge: it decides whether a value meets a schema, exactly by the drafts of JSON Schema, keyword by keyword."""

from cinnabar.schemas.judging.judge import Judge, Violation, judge_of

__all__ = ["Judge", "Violation", "judge_of"]
