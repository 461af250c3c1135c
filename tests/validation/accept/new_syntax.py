# accepted
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Point(Generic[T]):
    x: T
    y: T = 0


def kind(value: int | str | Point) -> str:
    match value:
        case Point(x=0, y=y) | Point(x=y, y=0) if y:
            return f"axis {y}"
        case {"a": 1, **rest}:
            return f"{rest}"
        case [first, *others]:
            return f"{first}{others}"
        case str() as text:
            return text
        case _:
            return "other"


async def main():
    async with lock() as a, lock() as b:
        return [x async for x in source() if (y := x)]


try:
    print(kind("a"), kind([1, 2]), (n := 3) + n)
except* ValueError as group:
    print(group)
