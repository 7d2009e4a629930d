"""The fuzzer with fixed seeds; tests/dap/fuzz.py has more."""
import fuzz


def test_seed_1(t):
    fuzz.Fuzzer(1, t).session(250)


def test_seed_2(t):
    fuzz.Fuzzer(2, t).session(250)


def test_seed_3(t):
    fuzz.Fuzzer(3, t).session(250)
