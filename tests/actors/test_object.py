"""What a class of objects has to be, before any object of it is made."""

import pytest

from durasim.actors import AlarmInfo, DurableObject


def deaf() -> None:
    """Make a class whose handler takes nothing."""

    class Deaf(DurableObject):
        async def alarm(self) -> None:  # type: ignore[override]
            """Takes nothing."""

    del Deaf


def synchronous() -> None:
    """Make a class whose handler cannot wait."""

    class Sync(DurableObject):
        def alarm(self, info: AlarmInfo) -> None:  # type: ignore[override]
            """Waits for nothing."""

    del Sync


def test_an_alarm_handler_that_cannot_be_called_is_refused() -> None:
    """When the class is made, in one sentence."""
    with pytest.raises(TypeError, match=r"Deaf\.alarm has to be `async def alarm\(self, info: "):
        deaf()
    with pytest.raises(TypeError, match=r"it is no coroutine function$"):
        synchronous()


def test_an_alarm_handler_may_take_more() -> None:
    """If it has defaults; one that is no plain function is taken as it is."""

    class Heard(DurableObject):
        async def alarm(self, info: AlarmInfo, more: int = 0) -> None:
            """Takes more."""

    class Wrapped(DurableObject):
        alarm = staticmethod(Heard.alarm)  # type: ignore[assignment]

    assert Heard.stored_name.endswith("Heard")
    assert Wrapped.stored_name.endswith("Wrapped")
