"""Events of an auction house: persons, their auctions and bids on them, the same for one seed.

python -m bench.nexmark.generator <events> <folder> writes <folder>/csv and <folder>/side_input.csv.
It needs nothing but Python, so that Flink's interpreter can run it, too.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

FIRST_ID = 1000
SIDE_KEYS = 10_000
_START = datetime(2026, 1, 31, 23, 59, 40)
_PERSONS, _AUCTIONS, _OF = 1, 3, 50
"""Of fifty events one is a person, three are auctions, the others bids."""
_EVERY_MS = 5
_CITIES = {
    "Portland": "OR", "Boise": "ID", "San Jose": "CA", "Fresno": "CA", "Seattle": "WA",
    "Cheyenne": "WY", "Phoenix": "AZ",
}  # fmt: skip
_FIRST = ("Ada", "Blaise", "Carla", "Dmitri", "Edsger", "Fatou", "Grace", "Hedy", "Ibn", "Joan")
_LAST = ("Abel", "Borg", "Cohn", "Diaz", "Engel", "Farkas", "Garcia", "Hansen")
_CHANNELS = ("Apple", "Google", "Facebook", "Baidu")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PERSON, _AUCTION, _BID = 7, 9, 6
"""How many columns each kind of event has."""


@dataclass
class AuctionHouse:
    """Makes one event after the other."""

    seed: int = 7
    persons: list[int] = field(default_factory=list)
    auctions: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._prices: set[int] = set()

    def events(self, count: int) -> Iterator[list[Any]]:
        """Rows as the table of events has them; None is an empty field."""
        for number in range(count):
            time = _START + timedelta(milliseconds=number * _EVERY_MS)
            place = number % _OF
            person, auction, bid = [None] * _PERSON, [None] * _AUCTION, [None] * _BID
            if place < _PERSONS:
                kind, person = 0, self._person()
            elif place < _PERSONS + _AUCTIONS:
                kind, auction = 1, self._auction(time)
            else:
                kind, bid = 2, self._bid()
            yield [kind, _shown(time), *person, *auction, *bid]

    def _person(self) -> list[Any]:
        chance, number = self._chance, FIRST_ID + len(self.persons)
        self.persons.append(number)
        name = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
        address = f"{name.lower().replace(' ', '.')}@{self._word(5)}.example"
        card = " ".join(f"{chance.randrange(10_000):04}" for _ in range(4))
        city = chance.choice(list(_CITIES))
        return [number, name, address, card, city, _CITIES[city], self._extra(20)]

    def _auction(self, time: datetime) -> list[Any]:
        chance, number = self._chance, FIRST_ID + len(self.auctions)
        self.auctions.append(number)
        low = self._price()
        expires = time + timedelta(milliseconds=chance.randrange(2_000, 15_000))
        return [
            number, self._word(8), f"{self._word(6)} {self._word(9)}", low,
            low + chance.randrange(1, 5_000), _shown(expires), self._recent(self.persons),
            chance.randrange(10, 15), self._extra(30),
        ]  # fmt: skip

    def _bid(self) -> list[Any]:
        chance = self._chance
        channel = chance.choice(_CHANNELS) if chance.random() < 0.5 else f"channel-{self._word(2)}"
        if chance.random() < 0.1:
            channel = channel.upper()
        path = "/".join(self._word(3) for _ in range(3))
        url = f"https://shop.example/{path}/item.htm?query=1"
        if channel.startswith("channel") and chance.random() < 0.8:
            url += f"&channel_id={chance.randrange(100_000)}"
        auction, bidder = self._recent(self.auctions), self._recent(self.persons)
        return [auction, bidder, self._price(), channel, url, self._extra(25)]

    def _recent(self, known: list[int]) -> int:
        """Mostly one of the last few: some auctions are hot, some persons busy; some come back."""
        dice = self._chance.random()
        few = 4 if dice < 0.5 else 40 if dice < 0.97 else len(known)
        return self._chance.choice(known[-few:])

    def _price(self) -> int:
        """From a hundred to a hundred million, small ones more often; no price comes twice."""
        while True:
            price = round(10 ** self._chance.uniform(2, 8))
            if price not in self._prices:
                self._prices.add(price)
                return price

    def _word(self, length: int) -> str:
        return "".join(self._chance.choices(_LETTERS, k=length))

    def _extra(self, most: int) -> str:
        return self._word(self._chance.randrange(1, most))


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03}"


def write(folder: Path, count: int) -> None:
    """Two files that both span the whole time, and what bids are enriched from."""
    (folder / "csv").mkdir(parents=True)
    rows = list(AuctionHouse().events(count))
    for part in range(2):
        with (folder / "csv" / f"part-{part}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows[part::2])
    side = [[key, f"side {key % 97}"] for key in range(SIDE_KEYS)]
    with (folder / "side_input.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(side)


if __name__ == "__main__":
    write(Path(sys.argv[2]), int(sys.argv[1]))
