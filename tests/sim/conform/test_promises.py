"""Promises and jobs: the order of ECMAScript, counted job by job."""

from collections.abc import Generator
from typing import Any

import pytest

from durasim.sim.conform.promises import Jobs, Promise, Thrown, async_function

Steps = Generator[Any, Any, Any]


def test_an_async_function_runs_at_once_until_its_first_await() -> None:
    """What follows an await comes after the caller's own code."""
    jobs, log = Jobs(), list[str]()

    def work() -> Steps:
        log.append("begun")
        yield None
        log.append("after await")

    async_function(jobs, work())
    log.append("caller")
    jobs.run()

    assert log == ["begun", "caller", "after await"]


def test_concurrent_lists_take_turns_await_by_await() -> None:
    """Each await of something settled is one job."""
    jobs, log = Jobs(), list[str]()

    def work(name: str) -> Steps:
        for step in range(3):
            log.append(f"{name}{step}")
            yield Promise.resolved(jobs, step)

    async_function(jobs, work("a"))
    async_function(jobs, work("b"))
    jobs.run()

    assert log == ["a0", "b0", "a1", "b1", "a2", "b2"]


def test_returning_a_promise_takes_two_jobs_more() -> None:
    """It is followed, in a job of its own."""
    jobs, log = Jobs(), list[str]()

    def follows() -> Steps:
        return Promise.resolved(jobs, "followed")
        yield

    def counts() -> Steps:
        for step in range(4):
            yield None
            log.append(f"job {step + 1}")

    async_function(jobs, follows()).then(log.append, log.append)
    async_function(jobs, counts())
    jobs.run()

    assert log == ["job 1", "job 2", "followed", "job 3", "job 4"]


def test_what_is_thrown_is_caught_where_it_is_awaited() -> None:
    """A rejection is thrown into whoever awaits, and on to their promise if not caught."""
    jobs = Jobs()

    def fails() -> Steps:
        yield None
        raise Thrown("no")

    def awaits(*, catching: bool) -> Steps:
        try:
            yield async_function(jobs, fails())
        except Thrown as thrown:
            if catching:
                return f"caught {thrown.value}"
            raise
        return "nothing"

    caught = async_function(jobs, awaits(catching=True))
    passed = async_function(jobs, awaits(catching=False))
    jobs.run()

    assert (caught.rejected, caught.value) == (False, "caught no")
    assert (passed.rejected, passed.value) == (True, "no")


def test_a_promise_is_settled_once() -> None:
    """Later outcomes are ignored, also while it follows another promise."""
    jobs = Jobs()
    first, second = Promise(jobs), Promise(jobs)
    first.resolve(second)
    first.reject("too late")
    second.resolve(1)
    second.resolve(2)
    jobs.run()

    assert (first.settled, first.rejected, first.value) == (True, False, 1)


def test_when_code_stops_on_the_spot_no_job_is_left() -> None:
    """An abort ends the turn: what was queued never runs."""
    jobs, log = Jobs(), list[str]()

    def stops() -> None:
        raise KeyboardInterrupt

    jobs.add(stops)
    jobs.add(lambda: log.append("ran"))
    with pytest.raises(KeyboardInterrupt):
        jobs.run()
    jobs.run()

    assert log == []
