"""What canonical JSON and its SHA-256 cost, against the library that defines the bytes."""

from statistics import median

from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.devtools.bench.scripts import run_script

LIMIT = 0.5

# An order of some 9.5 kB: texts, integers, fractions. Both must give the same bytes, or there is nothing to compare.
_WORK = """
import hashlib, sys, time
import rfc8785
from agentic_qt.schema.canonical import canonical, digest
ROUNDS = int(sys.argv[1])
lines = [
    {"sku": f"A-{number:05}", "qty": number % 9 + 1, "price": number * 1.37 + 0.013, "name": f"Spare part no. {number}",
     "note": None if number % 3 else "Deliver to the back door, please.", "taxed": number % 2 == 0}
    for number in range(85)
]
value = {"name": "orders.create", "targetId": None, "input": {"title": "Spare parts", "lines": lines}}
def theirs(): return hashlib.sha256(rfc8785.dumps(value)).hexdigest()
def ours(): return digest(canonical(value))
assert theirs() == ours(), "other bytes"
def timed(work):
    start = time.process_time()
    for _ in range(20): work()
    return (time.process_time() - start) / 20 * 1e6
for _ in range(ROUNDS): print(timed(theirs), timed(ours))
print(len(canonical(value)), 0)
"""


def measure(rounds: int) -> list[Row]:
    """Measure both in turns, in one process."""
    *numbers, size, _ = run_script(_WORK, rounds)
    theirs, ours = numbers[0::2], numbers[1::2]
    what = f"canonical JSON + SHA-256 at {size / 1000:.1f} kB"
    return [
        Row(name=f"{what}, rfc8785 alone", value=median(theirs), unit="us"),
        Row(
            name=what,
            value=median(ours),
            unit="us",
            ratio=median(own / other for own, other in zip(ours, theirs, strict=True)),
            base="rfc8785",
            limit=LIMIT,
        ),
    ]
