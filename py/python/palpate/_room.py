"""Whether a copy of an array, or a shape, has room before it is made: a view of a few bytes may stand for terabytes."""

import math

#: What is below this is made without asking [bytes].
SMALL = 1 << 30


def free() -> float:
    """Memory that programs may still take [bytes]; infinite where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return math.inf


def check(what: str, count: int, size: int, how: str = "as an array of its own") -> None:
    """``MemoryError`` that names the argument where ``count`` numbers of ``size`` bytes have no room."""
    needed = count * size
    if needed >= SMALL and needed > free():
        raise MemoryError(f"{what} takes {needed / 2**30:.1f} GiB {how}; there are {free() / 2**30:.1f} GiB")
