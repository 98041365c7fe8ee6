"""Choices: every controlled event has a name, options, and one option that is ordinary.

A *site* is what choices touch (caller, target, method…); it counts them, so that the n-th choice at
a site has a stable name. What is not ordinary is a *deviation*. A run is its scenario, parameters,
seed and deviations; where they come from is a *source*, nothing more.
"""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Protocol

import attrs

__all__ = [
    "ORDINARY",
    "Choices",
    "Deviation",
    "Option",
    "Ordinary",
    "Recorded",
    "Site",
    "Source",
    "literal",
    "split_name",
]

ORDINARY = "ordinary"


@attrs.frozen
class Deviation:
    """One choice that was not ordinary.

    Attributes:
        choice: its name, such as "reply 2 of Counter/cart.increment to alice".
        option: what was chosen, such as "lost".
        sentence: both, as a person would say it.
    """

    choice: str
    option: str
    sentence: str


@attrs.frozen
class Option:
    """What may be chosen at a site instead of the ordinary.

    Attributes:
        name: such as "lost" or "10 ms late".
        sentence: with `{n}` for the number of the choice; names in it go through `literal`.
        weight: how often, against the other options.
        fault: which entry of the fault plan allows it; None for what needs no permission.
    """

    name: str
    sentence: str
    weight: float = 1.0
    fault: int | None = None


class Site:
    """What choices of one kind touch. Interned: one for each kind and subject in a world."""

    __slots__ = ("count", "kind", "options", "planned", "rate", "subject")

    def __init__(self, kind: str, subject: str, options: tuple[Option, ...]) -> None:
        self.kind = kind
        self.subject = subject
        self.options = options
        self.count = 0
        self.rate = 0.0
        self.planned: Mapping[int, str] | None = None

    def name(self, number: int) -> str:
        """Name the *number*-th choice at this site."""
        return f"{self.kind} {number} of {self.subject}"


class Source(Protocol):
    """Where choices come from. One for each run."""

    def planned(self, kind: str, subject: str) -> Mapping[int, str] | None:
        """Return the deviations fixed for a new site, by number, or None."""
        ...

    def rate(self, site: Site) -> float:
        """Return how likely a choice at a new *site* is to deviate, 0 for never."""
        ...

    def gap(self) -> float:
        """Return how much rate may pass before the next deviation."""
        ...

    def pick(self, site: Site, options: tuple[Option, ...]) -> Option | None:
        """Choose among the *options* that may still strike; None for the ordinary one."""
        ...


class Choices:
    """The choices of one run: sites, and what deviated so far."""

    __slots__ = (
        "_left", "_sites", "_source", "_stopped", "budget", "deviations", "log", "struck",
        "unknown",
    )  # fmt: skip

    def __init__(self, source: Source, budget: list[float], *, log: bool = False) -> None:
        """Begin.

        Args:
            source: decides.
            budget: how often each entry of the fault plan may still strike; counted down here.
            log: keep the name and options of every choice, in order.
        """
        self._source = source
        self._sites: dict[tuple[str, str], Site] = {}
        self._left = source.gap()
        self._stopped = False
        self.budget = budget
        self.struck = [0] * len(budget)
        self.deviations: list[Deviation] = []
        self.unknown: list[str] = []
        self.log: list[tuple[str, tuple[str, ...]]] | None = [] if log else None

    def site(self, kind: str, subject: str) -> Site | None:
        """Return the site of that name if it exists."""
        return self._sites.get((kind, subject))

    def new_site(self, kind: str, subject: str, options: tuple[Option, ...]) -> Site:
        """Make a site."""
        site = Site(kind, subject, options)
        self._sites[kind, subject] = site
        if self._stopped:
            return site
        site.planned = self._source.planned(kind, subject)
        site.rate = self._source.rate(site) if options else 0.0
        return site

    def choose(self, site: Site) -> str | None:
        """Make the next choice at *site*: the option's name, or None for the ordinary one."""
        site.count += 1
        if self.log is not None:
            self.log.append((site.name(site.count), tuple(o.name for o in site.options)))
        if site.planned is not None:
            wanted = site.planned.get(site.count)
            return None if wanted is None else self._follow(site, wanted)
        left = self._left - site.rate
        if left > 0:
            self._left = left
            return None
        return self._deviate(site)

    def _follow(self, site: Site, wanted: str) -> str | None:
        for option in site.options:
            if option.name == wanted and self._may(option):
                return self._take(site, option)
        self.unknown.append(site.name(site.count))
        return None

    def _deviate(self, site: Site) -> str | None:
        self._left = self._source.gap()
        options = tuple(option for option in site.options if self._may(option))
        if not options:
            return None
        option = self._source.pick(site, options)
        return None if option is None else self._take(site, option)

    def _may(self, option: Option) -> bool:
        return option.fault is None or self.budget[option.fault] > 0

    def _take(self, site: Site, option: Option) -> str:
        if option.fault is not None:
            self.budget[option.fault] -= 1
            self.struck[option.fault] += 1
        sentence = numbered(option.sentence, site.count)
        self.deviations.append(Deviation(site.name(site.count), option.name, sentence))
        return option.name

    def stop(self) -> None:
        """From here on every choice is ordinary."""
        self._stopped = True
        self._left = inf
        for site in self._sites.values():
            site.planned = None

    def sites(self) -> Iterable[Site]:
        """Yield all sites, in the order they were first touched."""
        return self._sites.values()


class Ordinary:
    """The source of the ordinary run: nothing deviates."""

    def planned(self, kind: str, subject: str) -> Mapping[int, str] | None:
        """Nothing is planned."""
        del kind, subject
        return None

    def rate(self, site: Site) -> float:
        """Nothing deviates."""
        del site
        return 0.0

    def gap(self) -> float:
        """Never."""
        return inf

    def pick(self, site: Site, options: tuple[Option, ...]) -> Option | None:
        """Not asked."""
        del site, options
        return None


class Recorded(Ordinary):
    """The source of a replay: exactly the deviations given."""

    def __init__(self, deviations: Iterable[tuple[str, str]]) -> None:
        """Plan *deviations*, pairs of a choice's name and its option.

        Raises:
            ValueError: a name is not that of a choice, or stands twice.
        """
        self._planned: dict[tuple[str, str], dict[int, str]] = {}
        for name, option in deviations:
            kind, number, subject = split_name(name)
            numbers = self._planned.setdefault((kind, subject), {})
            if number in numbers:
                raise ValueError(f"{name!r} is chosen twice")
            numbers[number] = option

    def planned(self, kind: str, subject: str) -> Mapping[int, str] | None:
        """Return what was recorded for that site."""
        return self._planned.get((kind, subject))


def literal(name: str) -> str:
    """Return *name* as it may stand in a sentence: a "{n}" in it is not the choice's number."""
    return name.replace("{n}", LITERAL)


LITERAL = "{\0n}"


def numbered(sentence: str, number: int) -> str:
    """Return *sentence* of the *number*-th choice."""
    return sentence.replace("{n}", str(number)).replace(LITERAL, "{n}")


def split_name(name: str) -> tuple[str, int, str]:
    """Split the name of a choice into kind, number and subject.

    Raises:
        ValueError: it is not the name of a choice.
    """
    head, found, subject = name.partition(" of ")
    kind, _, number = head.rpartition(" ")
    if not found or not kind or not number.isdecimal():
        raise ValueError(f"{name!r} is not the name of a choice")
    return kind, int(number), subject
