"""The customers and orders of a first run: made up, always the same, e-mail addresses that reach nobody.

Some are fixed because the demo speaks of them: Ada Lovelace has an open order, Grace Hopper has two (she
cannot be deleted), Alan Turing has none (he can), and two customers share the name Nguyễn Văn An.
"""

import random
import unicodedata
from datetime import date, timedelta

from examples.crm.domain import FIRST_VERSION, Customer, Order, fold

_TOTAL = 240
_SEED = 1815
_FIRST_ORDER = 1001
_LAST_DAY = date(2026, 9, 30)

# name, company, city, country, status
_FIXED = (
    ("Ada Lovelace", "Analytical Engines Ltd", "London", "United Kingdom", "active"),
    ("Grace Hopper", "Harbour Compilers", "Arlington", "United States", "active"),
    ("Alan Turing", "Bletchley Consulting", "Manchester", "United Kingdom", "inactive"),
    ("Katherine Johnson", "Orbital Figures", "Hampton", "United States", "active"),
    ("Nguyễn Văn An", "Sông Hồng Logistics", "Hà Nội", "Vietnam", "active"),
    ("Nguyễn Văn An", "An Phát Furniture", "Đà Nẵng", "Vietnam", "lead"),
    ("王小明", "东方贸易", "上海", "China", "active"),
    ("Marie Curie", "Radium Instruments", "Paris", "France", "active"),
    ("Linus Pauling", "Valence Labs", "Portland", "United States", "lead"),
    ("Emmy Noether", "Symmetrie GmbH", "Göttingen", "Germany", "active"),
    ("Trần Thị Mai", "Mai Tea House", "Huế", "Vietnam", "active"),
    ("李娜", "北方印刷", "北京", "China", "lead"),
    ("Srinivasa Ramanujan", "Infinite Series Press", "Chennai", "India", "active"),
    ("Hypatia Theon", "Library Supplies", "Alexandria", "Egypt", "inactive"),
    ("Sofia Kovalevskaya", "Rotation Dynamics", "Stockholm", "Sweden", "active"),
    ("Tim Berners", "Hyperlink Stationers", "Geneva", "Switzerland", "lead"),
)
_NAMES = {
    ("London", "United Kingdom"): (
        ("Oliver", "Amelia", "Harry", "Isla", "George", "Freya", "Arthur", "Poppy"),
        ("Bennett", "Clarke", "Davies", "Hughes", "Morgan", "Palmer", "Reid", "Walsh"),
    ),
    ("Berlin", "Germany"): (
        ("Jonas", "Lena", "Felix", "Greta", "Jürgen", "Käthe", "Moritz", "Anneliese"),
        ("Schäfer", "Krüger", "Vogel", "Lindner", "Müller", "Böhm", "Winkler", "Seidel"),
    ),
    ("Lyon", "France"): (
        ("Chloé", "Léa", "Hugo", "Inès", "Théo", "Élodie", "Rémi", "Océane"),
        ("Lefèvre", "Moreau", "Girard", "Fournier", "Mercier", "Dubois", "Caron", "Perrin"),
    ),
    ("Warszawa", "Poland"): (
        ("Zofia", "Łukasz", "Agnieszka", "Paweł", "Małgorzata", "Jakub", "Hanna", "Stanisław"),
        ("Kowalczyk", "Wiśniewski", "Zieliński", "Woźniak", "Dąbrowski", "Krawczyk", "Mazur", "Pawlak"),
    ),
    ("Hồ Chí Minh", "Vietnam"): (
        ("Phạm", "Lê", "Hoàng", "Đặng", "Bùi", "Võ", "Đỗ", "Hồ"),
        ("Minh Anh", "Quốc Bảo", "Thu Hà", "Đức Huy", "Ngọc Lan", "Thanh Tùng", "Khánh Linh", "Gia Phúc"),
    ),
    ("深圳", "China"): (
        ("张", "刘", "陈", "杨", "赵", "黄", "周", "吴"),
        ("伟", "秀英", "建国", "丽华", "志强", "晓燕", "文杰", "雨桐"),
    ),
    ("São Paulo", "Brazil"): (
        ("João", "Beatriz", "Thiago", "Luísa", "Conceição", "Rafael", "Inácio", "Débora"),
        ("Gonçalves", "Araújo", "Pereira", "Teixeira", "Magalhães", "Ribeiro", "Falcão", "Nunes"),
    ),
    ("Nairobi", "Kenya"): (
        ("Wanjiru", "Otieno", "Achieng", "Kamau", "Njeri", "Barasa", "Chebet", "Mutua"),
        ("Mwangi", "Odhiambo", "Kiplagat", "Wekesa", "Njoroge", "Omondi", "Kariuki", "Cheruiyot"),
    ),
}
_TRADES = (
    "Bakery", "Bicycles", "Books", "Ceramics", "Consulting", "Design", "Electrics", "Films", "Gardens",
    "Glassworks",
    "Logistics", "Optics", "Paper", "Pharmacy", "Robotics", "Textiles", "Timber", "Travel",
)  # fmt: skip
_ITEMS = (
    ("Annual licence", 118_800), ("Consulting day", 96_000), ("Data migration", 245_000),
    ("Hardware kit", 64_900),
    ("Onboarding workshop", 140_000), ("Premium support", 59_400), ("Site survey", 38_500),
    ("Spare parts", 12_750),
    ("Training course", 72_000), ("Winter catalogue", 4_800),
)  # fmt: skip


def sample_customers() -> list[Customer]:
    """Return the sample customers, always the same."""
    chance = random.Random(_SEED)  # noqa: S311 - sample data, not a secret
    people = list(_FIXED)
    used = {name for name, *_ in people}
    places = tuple(_NAMES.items())
    while len(people) < _TOTAL:
        (city, country), (first, second) = places[len(people) % len(places)]
        joint = "" if country == "China" else " "
        name = joint.join((chance.choice(first), chance.choice(second)))
        if name in used:
            continue
        used.add(name)
        company = f"{name.split()[-1]} {chance.choice(_TRADES)}" if country != "China" else f"{name[0]}氏贸易"
        status = chance.choices(("active", "lead", "inactive"), (6, 3, 1))[0]
        people.append((name, company, city, country, status))
    return [
        Customer(
            id=number,
            name=name,
            email=_email(name, number),
            phone=_phone(country, number),
            company=company,
            city=city,
            country=country,
            status=status,
            version=FIRST_VERSION,
        )
        for number, (name, company, city, country, status) in enumerate(people, start=1)
    ]


def sample_orders() -> list[Order]:
    """Return the sample orders, always the same."""
    chance = random.Random(_SEED + 1)  # noqa: S311 - sample data, not a secret
    fixed_statuses = {1: ("open", "paid", "shipped"), 2: ("open", "open", "paid"), 3: ("shipped", "paid")}
    orders: list[Order] = []
    for customer in sample_customers():
        statuses = fixed_statuses.get(customer.id) or tuple(
            chance.choices(("open", "paid", "shipped", "cancelled"), (2, 4, 5, 1))[0]
            for _ in range(0 if customer.status == "lead" else chance.randint(1, 5))
        )
        for status in statuses:
            item, cents = chance.choice(_ITEMS)
            orders.append(
                Order(
                    id=_FIRST_ORDER + len(orders),
                    customer_id=customer.id,
                    item=item,
                    amount_cents=cents * chance.randint(1, 4),
                    status=status,
                    ordered_on=(_LAST_DAY - timedelta(days=chance.randint(0, 600))).isoformat(),
                    version=FIRST_VERSION,
                )
            )
    return orders


def _email(name: str, number: int) -> str:
    letters = "".join(c if c.isascii() and c.isalnum() else "." for c in fold(unicodedata.normalize("NFC", name)))
    local = ".".join(part for part in letters.split(".") if part) or f"customer{number}"
    taken = {"nguyen.van.an": f"nguyen.van.an.{number}"}
    return f"{taken.get(local, local)}@example.{('com', 'org')[number % 2]}"


def _phone(country: str, number: int) -> str:
    """Return a number from a range kept free for films; where a country has none, nothing."""
    if country == "United Kingdom":
        return f"+44 20 7946 {number:04d}"
    if country == "United States":
        return f"+1 202 555 01{number % 100:02d}"
    if country == "Germany":
        return f"+49 30 23125 {number:03d}"
    if country == "France":
        return f"+33 1 99 00 {number // 100:02d} {number % 100:02d}"
    return ""
