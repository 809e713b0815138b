"""Memory held over time, as steps, and how it is cut into columns of a picture."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

Points = tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """What one holder had.

    Attributes:
        label: who.
        points: seconds and the bytes held from then on, in order.
    """

    label: str
    points: Points

    @property
    def peak(self) -> int:
        """Most bytes held at one time."""
        return max((held for _seconds, held in self.points), default=0)

    def at(self, seconds: float) -> int:
        """Return the bytes held at a moment."""
        position = bisect_right(self.points, seconds, key=lambda point: point[0])
        return self.points[position - 1][1] if position else 0


@dataclass(frozen=True, slots=True)
class History:
    """What happened on one device.

    Attributes:
        total: bytes of the device.
        seconds: how long it lasted.
        series: the holders.
        refusals: the seconds at which a request was refused.
    """

    total: int
    seconds: float
    series: tuple[Series, ...]
    refusals: tuple[float, ...] = ()

    @property
    def moments(self) -> tuple[float, ...]:
        """Every second at which something changed, in order."""
        return tuple(sorted({seconds for one in self.series for seconds, _held in one.points}))

    def stacks(self, columns: int) -> tuple[tuple[int, ...], ...]:
        """Return what each series held, for each of so many equal spans of time.

        A span shows its fullest moment, so that no peak is lost, however short it was; what is shown of the series was
        held at one time, so that they never add up to more than there was.
        """
        moments = self.moments
        totals = {moment: sum(one.at(moment) for one in self.series) for moment in moments}
        shown = []
        for start, end in pairwise(self.seconds * number / columns for number in range(columns + 1)):
            # What was held when the span began counts as well.
            inside = [start, *moments[bisect_right(moments, start) : bisect_right(moments, end)]]
            fullest = max(inside, key=lambda moment: totals.get(moment) or sum(one.at(moment) for one in self.series))
            shown.append(tuple(one.at(fullest) for one in self.series))
        return tuple(shown)

    def refused_in(self, columns: int) -> tuple[int, ...]:
        """Return in which of so many columns requests were refused."""
        last = columns - 1
        span = self.seconds or 1.0
        return tuple(sorted({min(last, int(seconds / span * columns)) for seconds in self.refusals}))

    def ceiling(self) -> int:
        """Return the amount at the top of the picture: the device, unless hardly anything of it was used."""
        peak = max((sum(stack) for stack in self.stacks(200)), default=0)
        if not peak or peak * 6 >= self.total:
            return self.total
        return min(self.total, rounded_up(peak))


def rounded_up(amount: int) -> int:
    """Return the next amount that people like: 1, 2, 4 or 8 times a power of 16, and so on in doublings.

    Example:
        >>> rounded_up(300 << 20) >> 20
        512
    """
    size = 1 << 20
    while size < amount:
        size *= 2
    return size
