"""A few seconds of fuzz_api.py, with a seed that is always the same; it is for longer runs with others by hand."""
import fuzz_api


def test_fuzz(_):
    fuzz = fuzz_api.Fuzz(5)
    try:
        fuzz.run(8, 800)
        assert fuzz.done > 20 and 200 in fuzz.statuses and 400 in fuzz.statuses, fuzz.statuses
    finally:
        status = fuzz.stop()
    assert status == 0, status
