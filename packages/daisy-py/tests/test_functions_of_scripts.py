"""Functions of scripts, and what scripts define for them: classes, enumerations, closures, decorators."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from python_scripts import PRELUDE, finish, run_script, start, write_script

SCRIPT = '''
import collections, dataclasses, enum, functools, sys, typing

def making(offset):
    """A function that reaches itself through its closure."""
    def process(block, limit: int = 7) -> None:
        assert offset == 3 and process.__defaults__ == (7,) and limit in (7, 8)
    return process

def recursion():
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)
    def process(block):
        assert factorial(5) == 120
    return process

class Base:
    def name(self):
        return "base"

class Callable(Base):
    count: typing.ClassVar[int] = 1
    def __init__(self, value):
        self.value = value
    def name(self):
        return super().name() + "!"
    def __call__(self, block):
        assert self.name() == "base!" and self.count == 1 and self.twice == 2 * self.value and self.new().value == 9
    @property
    def twice(self):
        return 2 * self.value
    @classmethod
    def new(cls):
        return cls(9)

class Registry:
    """Its instances are reached from the class itself."""
    made: typing.ClassVar[list] = []
    def __init__(self):
        Registry.made.append(self)

Registry.first = Registry()

@dataclasses.dataclass(frozen=True)
class Data:
    value: int = 1
    def __call__(self, block):
        assert Data(1) == self and Data(2) != self

Named = collections.namedtuple("Named", "one two")

class Typed(typing.NamedTuple):
    value: int = 3

class Meta(type):
    def __new__(kind, name, bases, attributes):
        return super().__new__(kind, name, bases, {**attributes, "tag": name})

class WithMeta(metaclass=Meta):
    __slots__ = ("value",)

class Color(enum.Enum):
    RED = 1
    BLUE = 2
    SCARLET = 1
    @classmethod
    def _missing_(cls, value):
        return Color.BLUE
    def other(self):
        return Color.BLUE if self is Color.RED else Color.RED

class Access(enum.IntFlag):
    READ = 1
    WRITE = 2

class Mode(enum.StrEnum):
    FAST = enum.auto()

class Loud(str, enum.Enum):
    NAME = "name"
    def __str__(self):
        return self.value.upper()

class Planet(enum.Enum):
    EARTH = (6, 2)
    def __init__(self, mass, radius):
        self.density = mass / radius

def classes(block):
    assert Named(1, 2).two == 2 and Typed().value == 3 and WithMeta.tag == "WithMeta" and type(WithMeta) is Meta

def enumerations(block):
    assert Color.RED.other() is Color(2) and Color(7) is Color.BLUE and Color.SCARLET is Color.RED
    assert Access.READ | Access.WRITE == Access(3) and ~Access.READ == Access.WRITE
    assert Mode.FAST == "fast" and str(Loud.NAME) == "NAME" and repr(Color.RED) == "<Color.RED: 1>"

def registries(block):
    assert Registry.first in Registry.made and isinstance(Registry.first, Registry)

T = typing.TypeVar("T")

def variables(block: daisy.Block, other: T = None) -> T:
    assert variables.__annotations__["return"] is T

def planets(block):
    assert Planet.EARTH.density == 3

COUNT = 0

def counting(block):
    def step():
        global COUNT
        COUNT += 1
    step()
    assert COUNT > 0

def decorated(function):
    @functools.wraps(function)
    def inner(block):
        return function(block)
    return inner

@decorated
def wrapped(block):
    assert wrapped.__wrapped__.__name__ == "wrapped"

@functools.lru_cache
def cached(x):
    return x

def annotated(block: daisy.Block, other: "int | None" = None) -> typing.Any:
    assert cached(3) == 3 and annotated.__annotations__["return"] is typing.Any

FUNCTIONS = {
    "closure": making(3),
    "partial": functools.partial(making(3), limit=8),
    "recursion": recursion(),
    "object": Callable(4),
    "method": Callable(4).__call__,
    "data": Data(),
    "classes": classes,
    "enumerations": enumerations,
    "counting": counting,
    "wrapped": wrapped,
    "annotated": annotated,
    "lambda": lambda block: enumerations(block),
}
WITH_A_FILE = {"planets": planets, "registries": registries, "variables": variables}

def main(names):
    tasks = [task(FUNCTIONS.get(name) or WITH_A_FILE[name], name, max_retries=0) for name in names]
    daisy.run_blockwise(tasks, progress=False, summary=False).raise_for_failures()
'''


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_whatever_a_script_defines_is_there_in_its_workers(tmp_path: Path, way: str) -> None:
    main = "\nif __name__ == '__main__':\n    main([*FUNCTIONS, *WITH_A_FILE])\n"
    run_script(tmp_path, SCRIPT + main, DAISY_WORKER_START=way)


def test_so_it_is_where_there_is_no_file(tmp_path: Path) -> None:
    finish(start(["-c", PRELUDE + SCRIPT + "\nmain(FUNCTIONS)\n"], tmp_path))


UNKNOWN = {
    "planets": "the members of Planet are made by its own __init__",
    "registries": "global 'Registry' is a type",
    "variables": "~T can only be named, and no worker finds that name",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_made_anew_is_named(tmp_path: Path, name: str) -> None:
    process = start(["-c", PRELUDE + SCRIPT + f"\nmain(['{name}'])\n"], tmp_path)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1
    assert f"SerializationError: the function of task '{name}' cannot be sent" in err
    assert UNKNOWN[name] in err
    assert "to a module that can be imported" in err


def test_what_is_made_only_as_a_program_is_refused_by_the_driver(tmp_path: Path) -> None:
    script = SCRIPT + textwrap.dedent("""
        if __name__ == "__main__":
            class Moon(enum.Enum):
                LUNA = (1, 2)
                def __init__(self, mass, radius):
                    self.density = mass / radius

            FUNCTIONS["moons"] = lambda block: Moon.LUNA
            main(["moons"])
    """)
    process = start([str(write_script(tmp_path, script))], tmp_path)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1
    assert "SerializationError: the function of task 'moons' cannot be sent" in err
    assert "the members of Moon are made by its own __init__" in err


def test_a_function_made_by_a_module_uses_that_module_if_it_cannot_bring_it_along(
    tmp_path: Path,
) -> None:
    (tmp_path / "decorators.py").write_text(
        textwrap.dedent("""
            import socket
            CONNECTION = socket.socket()
            CALLS = []
            LIMIT = 3

            class Called(Exception):
                pass

            def note():
                assert CONNECTION.fileno() >= 0
                CALLS.append(1)

            def noted(function):
                def inner(block):
                    note()
                    return function(block, Called)
                return inner

            def limited(function):
                def inner(block):
                    assert LIMIT == 4
                    return function(block, Called)
                return inner
        """)
    )
    script = """
        import decorators

        def same(block, called):
            assert called is __import__("decorators").Called

        noted = decorators.noted(lambda block, called: (same(block, called), decorators.CALLS[0]))
        decorators.LIMIT = 4  # as it is now, it goes along
        limited = decorators.limited(same)
        daisy.run_blockwise([task(noted), task(limited, "l")], progress=False, summary=False).raise_for_failures()
    """
    run_script(tmp_path, script)
