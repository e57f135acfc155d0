"""The cars for hire, and the bookings of this run. Knows no Qt and no assistant."""

import itertools
from dataclasses import dataclass

ANY = "any"
INSURANCE = 12  # euros a day


@dataclass(frozen=True, kw_only=True)
class Car:
    name: str
    kind: str
    fuel: str
    seats: int
    price: int  # euros a day


CARS = (
    Car(name="Renault Clio", kind="small", fuel="petrol", seats=5, price=34),
    Car(name="Fiat 500e", kind="small", fuel="electric", seats=4, price=41),
    Car(name="VW Golf", kind="family", fuel="petrol", seats=5, price=47),
    Car(name="Toyota Corolla", kind="family", fuel="hybrid", seats=5, price=52),
    Car(name="Skoda Enyaq", kind="family", fuel="electric", seats=5, price=69),
    Car(name="VW Multivan", kind="van", fuel="hybrid", seats=7, price=88),
    Car(name="Ford Transit", kind="van", fuel="diesel", seats=9, price=79),
)


@dataclass(frozen=True, kw_only=True)
class Booking:
    number: str
    car: str
    driver: str
    pick_up: str
    days: int
    price: int


class Garage:
    def __init__(self) -> None:
        self.bookings: list[Booking] = []
        self._numbers = itertools.count(1001)

    def search(self, *, kind: str = ANY, fuel: str = ANY, seats: int = 1, price: int = 1000) -> list[Car]:
        """Return the cars that fit, the cheapest first."""
        found = [
            car
            for car in CARS
            if kind in (ANY, car.kind) and fuel in (ANY, car.fuel) and car.seats >= seats and car.price <= price
        ]
        return sorted(found, key=lambda car: car.price)

    def book(self, *, car: str, driver: str, pick_up: str, days: int, insurance: bool) -> Booking:
        """Book a car.

        Raises:
            ValueError: It is booked already on that day.
        """
        if any((known.car, known.pick_up) == (car, pick_up) for known in self.bookings):
            raise ValueError(f"{car} is booked already on {pick_up}")
        daily = next(known.price for known in CARS if known.name == car) + (INSURANCE if insurance else 0)
        booking = Booking(
            number=f"B{next(self._numbers)}", car=car, driver=driver, pick_up=pick_up, days=days, price=daily * days
        )
        self.bookings.append(booking)
        return booking
