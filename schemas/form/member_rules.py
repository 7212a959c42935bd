"""The demands of an object on which of its members are there, as a machine that reads them in their order.

`minProperties`, `maxProperties` and `dependentRequired` (JSON Schema 2020-12, validation 6.5) are decided member by
member: what has to be known of those before is how many there are, which names others ask for later, and which names
are still owed. So they become states of the record's language, and hold at every step.
"""

from __future__ import annotations

from typing import NamedTuple

from cinnabar.schemas.form.form import ObjectNode


class Seen(NamedTuple):
    """What is known of the members before a place: their number, up to the largest that counts, and names.

    there: those that a later member asks for. owed: those that an earlier member asks for.
    """

    many: int = 0
    there: frozenset[str] = frozenset()
    owed: frozenset[str] = frozenset()


class MemberRules:
    """Decides for the declared members by their numbers, and for open ones, whose names are not known here."""

    def __init__(self, node: ObjectNode) -> None:
        names = [place.name for place in node.properties]
        self._names, self._most, self._least = names, node.most, node.least
        self._counts = max(node.least, 0 if node.most is None else node.most)
        number = {name: at for at, name in enumerate(names)}
        #: By the number of a member: names before it that it asks for, those behind it, whether it may not be there.
        self._before: list[frozenset[str]] = []
        self._behind: list[frozenset[str]] = []
        self._barred: list[bool] = []
        #: The last member that asks for a name before it.
        self._last: dict[str, int] = {}
        demands = {name: set[str]() for name in names}
        for name, others in node.demands:
            if name in demands:
                demands[name].update(others)
        for at, name in enumerate(names):
            known = [other for other in demands[name] if other in number and other != name]
            before = frozenset(other for other in known if number[other] < at)
            self._before.append(before)
            self._behind.append(frozenset(known) - before)
            # An undeclared name may be written where the object has open properties; the judge decides on it then.
            self._barred.append(not node.rest and any(other not in number for other in demands[name]))
            self._last |= dict.fromkeys(before, at)

    @staticmethod
    def of(node: ObjectNode) -> MemberRules | None:
        """Returns the rules of an object, None if it has none that members can break."""
        demanded = sum(place.required for place in node.properties)
        few = node.most is None or (not node.rest and node.most >= len(node.properties))
        names = {place.name for place in node.properties}
        always = {place.name for place in node.properties if place.required}
        asks = any(name in names and not always.issuperset(others) for name, others in node.demands)
        return None if node.least <= demanded and few and not asks else MemberRules(node)

    def taken(self, seen: Seen, number: int) -> Seen | None:
        """Returns what is known behind a member of this number, open ones beyond the last; None if it may not be."""
        if self._most is not None and seen.many >= self._most:
            return None
        many = min(seen.many + 1, self._counts)
        if number >= len(self._names):
            return seen._replace(many=many)
        name = self._names[number]
        if self._barred[number] or not self._before[number] <= seen.there:
            return None
        there = self._later(seen.there | {name}, number)
        return Seen(many, there, (seen.owed | self._behind[number]) - {name})

    def skip_member(self, seen: Seen, number: int) -> Seen | None:
        """Returns what is known behind the place of a declared member that is not there; None if it is owed."""
        if number >= len(self._names):
            return seen
        return None if self._names[number] in seen.owed else seen._replace(there=self._later(seen.there, number))

    def _later(self, names: frozenset[str], number: int) -> frozenset[str]:
        """Returns those names that a member behind this number asks for."""
        return frozenset(name for name in names if self._last.get(name, -1) > number)

    def may_end(self, seen: Seen, number: int, groups: int) -> bool:
        """Returns whether the object may end before the member of this number, of so many groups of members."""
        at: Seen | None = seen
        for one in range(number, groups):
            if at is None:
                return False
            at = self.skip_member(at, one)
        return at is not None and not at.owed and at.many >= self._least

    def ways(self, node: ObjectNode, most: int) -> tuple[int, ...] | None:
        """Returns for each group of members how many ways there are to come to one of it; None if more than `most`."""
        found: list[int] = []
        ways = {Seen()}
        for number in range(len(node.properties) + len(node.rest)):
            taken = self._taken(ways, number)
            if number >= len(node.properties):
                # Any number of open members may follow one another.
                fresh = taken - ways
                while fresh and len(ways) <= most:
                    ways |= fresh
                    fresh = self._taken(fresh, number) - ways
                taken = set(ways)
            if len(ways) > most:
                return None
            found.append(len(ways))
            if number >= len(node.properties) or not node.properties[number].required:
                taken |= {passed for seen in ways if (passed := self.skip_member(seen, number)) is not None}
            ways = taken
        return tuple(found)

    def _taken(self, ways: set[Seen], number: int) -> set[Seen]:
        return {taken for seen in ways if (taken := self.taken(seen, number)) is not None}
