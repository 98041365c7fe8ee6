"""`ABSENT` is nothing, and is not None."""

import copy
import pickle

from durasim.wire import ABSENT, Absent


def test_absent_is_one_value_that_is_not_none() -> None:
    """It is false, prints as its name, and stays itself through copies."""
    assert ABSENT is not None
    assert not ABSENT
    assert repr(ABSENT) == "ABSENT"
    assert list(Absent) == [ABSENT]
    assert copy.deepcopy(ABSENT) is ABSENT
    assert pickle.loads(pickle.dumps(ABSENT)) is ABSENT
