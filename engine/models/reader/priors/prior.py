"""The interface of a prior: a function from a form and a page to scores that are added to the network's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cinnabar.engine.models.reader.priors.config import DEFAULT_PRIORS, PriorConfig
from cinnabar.engine.models.reader.priors.labels import Label, labels_of
from cinnabar.engine.models.reader.priors.name_matching import Floats, Page
from cinnabar.schemas.form.form import Form


@dataclass(frozen=True)
class PriorInput:
    """A form, a page that is searched for its names, and the weights of all priors."""

    form: Form
    page: Page
    config: PriorConfig = DEFAULT_PRIORS

    @property
    def pieces(self) -> int:
        """The number of pieces of the page."""
        return len(self.page.columns.pieces)

    @cached_property
    def labels(self) -> list[Label]:
        """The labels of the page, which several priors share."""
        return labels_of(self.form, self.page, self.config)


@dataclass(frozen=True, slots=True)
class PriorScores:
    """The log odds that one prior adds at each of T pieces of a page, [T] each, by the paths of the form.

    values: that the value of a field starts there; objects: that the value of any field of an object does; rows: that
    an item of an array begins there.
    """

    values: Mapping[str, Floats] = field(default_factory=dict)
    objects: Mapping[str, Floats] = field(default_factory=dict)
    rows: Mapping[str, Floats] = field(default_factory=dict)


#: One prior: the scores for a form on a page, which leave out paths without any.
Prior = Callable[[PriorInput], PriorScores]
