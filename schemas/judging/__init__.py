"""Whether a value meets a schema, exactly as the drafts of JSON Schema say it, keyword by keyword."""

from cinnabar.schemas.judging.judge import Judge, Violation, judge_of

__all__ = ["Judge", "Violation", "judge_of"]
