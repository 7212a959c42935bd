"""The graph of a form over a tokenizer, made once; with 150,000 tokens and 30 fields that takes .8 s."""

from __future__ import annotations

from cinnabar.engine.language.forced import TokenSpelling, spelled_graph
from cinnabar.engine.language.record_graph import RecordGraph, graph_of
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_language import record_language
from cinnabar.schemas.kept_by_weight import kept_by_weight

#: The bytes of the graphs that are kept; a form of 30 fields has 2 MB with 150,000 tokens.
GRAPH_BYTES = 128 << 20


def bytes_of(graph: RecordGraph) -> int:
    """Returns the bytes of a graph: of its edges with their keys, of its states, and of the classes of tokens."""
    edges = graph.source.nbytes + graph.label.nbytes + graph.target.nbytes + 8 * len(graph.source)
    return edges + graph.distance.nbytes + 8 * graph.states + graph.token_class.nbytes


@kept_by_weight(GRAPH_BYTES, bytes_of)
def cached_graph(form: Form, tokenizer: TokenSpelling) -> RecordGraph:
    """Returns the graph of a form over a tokenizer; whatever no automaton expresses is left to the form's judge.

    Raises TooLarge if the form's records need too many states.
    """
    return graph_of_language(record_language(form), tokenizer)


def graph_of_language(language: Automaton, tokenizer: TokenSpelling) -> RecordGraph:
    """Returns the graph of a language over a tokenizer, whose forced text is spelled as the tokenizer does."""
    return spelled_graph(graph_of(language, tokenizer.vocabulary), tokenizer)
