"""Drain and fence against a dict: the rows of E.1, written down once more, by hand."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from durasim.actors.fleet.bounds import CYCLE_BOUND_MS, MINUTE_MS, RESERVE_MS

from .lone_registry import LoneRegistry

__all__ = ["DrainMachine"]

WORKERS = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002")
OWNERS = ("preflight", "recovery", "deciding", "decision", "controller")
MEMBERS = ("repo:a", "repo:b")
TOKENS = st.sampled_from(("t1", "t2"))


class DrainMachine(RuleBasedStateMachine):
    """The one row as a dict, beside the real one."""

    def __init__(self) -> None:
        super().__init__()
        self.lone = LoneRegistry()
        self.drain: dict[str, Any] | None = None
        self.fences = ["never-set"]
        self.permits: list[str] = []

    # ---- the model

    @property
    def now(self) -> int:
        """The clock."""
        return self.lone.now_ms

    def end(self, drain: dict[str, Any]) -> int:
        """When it ends by itself."""
        end: int = drain["until"]
        is_held = drain["holds"] and drain["lift"]
        return min(end, drain["holds_until"]) if is_held else end

    def settle(self) -> None:
        """What has ended is gone."""
        if self.drain is not None and self.end(self.drain) <= self.now:
            self.drain = None

    def newer(self, worker: int, uploaded_at: int | None) -> bool:
        """Whether that Worker may lift what stands."""
        fence = None if self.drain is None else self.drain["fence"]
        if fence is None:
            return True
        late = uploaded_at is not None and uploaded_at > fence["at"]
        return late and WORKERS[worker] != fence["version"]

    # ---- what is asked

    @rule(ms=st.sampled_from((1, MINUTE_MS, 9 * MINUTE_MS, 40 * MINUTE_MS)), rings=st.booleans())
    def time_passes(self, ms: int, rings: bool) -> None:
        """Move the clock; the alarm may be late."""
        self.lone.now_ms += ms
        self.settle()
        if rings:
            self.lone.ring()

    @rule()
    def runs_to_its_end(self) -> None:
        """Move the clock to the very instant of the end, or to the last of the reserve."""
        if self.drain is not None:
            end = self.end(self.drain)
            at = end - RESERVE_MS
            self.lone.now_ms = at if at > self.now else end
            self.settle()

    @rule()
    def restarts(self) -> None:
        """A new incarnation knows the same."""
        self.lone.restart()

    @rule(minutes=st.sampled_from((90, 21, None, 1, 0, 91)))
    def drains(self, minutes: int | None) -> None:
        """Post a drain."""
        got = self.lone.ask(self.lone.registry.drain(minutes, "me", "why"))
        if minutes in (0, 91):
            assert got == "BAD_REQUEST", got
        elif self.drain is not None and self.drain["fence"] is not None:
            assert got == "DRAIN_FENCED", got
        else:
            until = self.now + (60 if minutes is None else minutes) * MINUTE_MS
            assert (got["since"], got["until"]) == (self.now, until)
            self.drain = {
                "until": until, "holds": {}, "holds_until": None, "reports": {}, "lift": False,
                "fence": None,
            }  # fmt: skip

    @rule(
        owner=st.sampled_from((*OWNERS, "nobody")),
        worker=st.sampled_from((0, 1, None)),
        end=st.sampled_from((None, RESERVE_MS - 1, RESERVE_MS)),
    )
    def sets_fence(self, owner: str, worker: int | None, end: int | None) -> None:
        """Set a fence."""
        by = {} if worker is None else {"workerVersion": WORKERS[worker], "artifactId": "b"}
        ends = [] if end is None else [self.now + end]
        got = self.lone.ask(self.lone.registry.set_fence({"kind": owner, "ref": "r"}, by, ends))
        drain = self.drain
        if owner == "nobody":
            assert got == "BAD_REQUEST", got
        elif drain is None or drain["fence"] is not None or drain["lift"]:
            assert got == "FENCE_UNAVAILABLE", got
        elif worker is None:
            assert got == "PRODUCER_IDENTITY_UNKNOWN", got
        elif min([self.end(drain), *ends]) - self.now < RESERVE_MS:
            assert got == "FENCE_UNAVAILABLE", got
        else:
            assert got["fenceId"] not in self.fences
            self.fences.append(got["fenceId"])
            drain["fence"] = {
                "id": got["fenceId"], "owner": owner, "version": WORKERS[worker], "at": self.now,
            }  # fmt: skip

    @rule(owner=st.sampled_from(OWNERS), worker=st.integers(0, 1))
    def closes(self, owner: str, worker: int) -> None:
        """Drain for long, and set a fence: most is to be seen then."""
        self.drains(90)
        self.sets_fence(owner, worker, None)

    @rule(back=st.sampled_from((0, 0, 1, 2)), worker=st.integers(0, 1))
    def verifies(self, back: int, worker: int) -> None:
        """Verify the last fence, or one before it."""
        named = self.fences[max(len(self.fences) - 1 - back, 0)]
        got = self.lone.ask(self.lone.registry.verify_fence(named, WORKERS[worker], []))
        fence = None if self.drain is None else self.drain["fence"]
        good = (
            self.drain is not None
            and fence is not None
            and (fence["id"], fence["version"]) == (named, WORKERS[worker])
            and self.end(self.drain) - self.now >= RESERVE_MS
            and not self.permits
        )
        assert got["verified"] is good, got
        assert got["counted"] == len(self.permits)

    @rule(back=st.sampled_from((0, 1, 2)))
    def withdraws(self, back: int) -> None:
        """Withdraw the last fence, or one before it."""
        named = self.fences[max(len(self.fences) - 1 - back, 0)]
        got = self.lone.ask(self.lone.registry.withdraw_fence(named))
        fence = None if self.drain is None else self.drain["fence"]
        if fence is not None and fence["id"] == named and fence["owner"] in OWNERS[:3]:
            assert got == {"withdrawn": True, "standing": None}
            assert self.drain is not None
            self.drain["fence"] = None
        else:
            standing = None if fence is None else fence["id"]
            assert got == {"withdrawn": False, "standing": standing}

    @rule(worker=st.integers(0, 1), age=st.sampled_from((None, -1, 0, 1)))
    def lifts_another(self, worker: int, age: int | None) -> None:
        """Ask for the lift of a drain that there is not."""
        by = {"workerVersion": WORKERS[worker], "uploadedAt": age}
        got = self.lone.ask(self.lone.registry.undrain_exactly(by, "another"))
        assert (got["cleared"], got["held"]) == (False, [])

    @rule(worker=st.integers(0, 1), age=st.sampled_from((None, -1, 0, 1)))
    def undrains(self, worker: int, age: int | None) -> None:
        """Ask for the lift, as a Worker that is older or newer than the fence."""
        fence = None if self.drain is None else self.drain["fence"]
        at = None if age is None else (self.now if fence is None else fence["at"]) + age
        by = {"workerVersion": WORKERS[worker], "uploadedAt": at}
        got = self.lone.ask(self.lone.registry.undrain(by))
        if self.drain is None:
            assert got["cleared"] is False
        elif fence is not None and not self.newer(worker, at):
            assert got == "PRE_UPLOAD_WORKER", got
        elif fence is not None and fence["owner"] in OWNERS[3:]:
            assert got == "FENCE_OWNED_BY_WINDOW", got
        elif fence is not None and self.permits:
            assert got == "ADMITTED_WORK_UNSETTLED", got
        elif self.drain["holds"]:
            assert (got["cleared"], got["held"]) == (False, sorted(self.drain["holds"]))
            self.drain["lift"] = True
            self.settle()
        else:
            assert got["cleared"] is True
            self.drain = None

    @rule(member=st.sampled_from(MEMBERS), token=TOKENS | st.none(), ago=st.integers(0, 2))
    def holds(self, member: str, token: str | None, ago: int) -> None:
        """A member, or somebody for it, holds the drain."""
        since = self.now - ago
        self.lone.ask(self.lone.registry.hold_for(member, token, since))
        drain = self.drain
        if drain is None:
            return
        reported = drain["reports"].get(member)
        if token is None and (member in drain["holds"] or (reported or 0) >= since):
            return
        if not drain["holds"]:
            drain["holds_until"] = min(drain["until"], self.now + CYCLE_BOUND_MS)
        drain["holds"][member] = token

    @rule(member=st.sampled_from(MEMBERS), token=TOKENS)
    def lifts_late(self, member: str, token: str) -> None:
        """A member holds the drain, and then its lift is asked."""
        self.holds(member, token, 0)
        self.undrains(1, 1)

    @rule(member=st.sampled_from(MEMBERS), token=TOKENS)
    def reports(self, member: str, token: str) -> None:
        """A member reports."""
        got = self.lone.ask(self.lone.registry.report_image_current(member, token))
        drain = self.drain
        last = False
        if drain is not None:
            drain["reports"][member] = self.now
            if member in drain["holds"] and drain["holds"][member] in (None, token):
                del drain["holds"][member]
                last = drain["lift"] and not drain["holds"]
        if last:
            self.drain = None
        assert got == {"lifted": last}

    @rule()
    def admits(self) -> None:
        """A request of old code begins, unless a fence stands."""
        got = self.lone.ask(self.lone.registry.begin_deploy_admission())
        if self.drain is not None and self.drain["fence"] is not None:
            assert got == "FENCED", got
        else:
            self.permits.append(got["id"])

    @rule()
    def ends(self) -> None:
        """The oldest one ends."""
        if self.permits:
            self.lone.ask(self.lone.registry.end_deploy_admission(self.permits.pop(0)))

    @invariant()
    def row_is_the_dict(self) -> None:
        """What lives is what the dict says, and the alarm rings when it ends."""
        got = self.lone.ask(self.lone.registry.draining())
        if self.drain is None:
            assert got is None, got
            return
        assert got is not None
        assert self.lone.alarm is None or self.lone.alarm <= self.end(self.drain)
        fence = self.drain["fence"]
        assert got["until"] == self.drain["until"]
        assert got["swapFence"] is (fence is not None)
        assert got.get("fenceId") == (None if fence is None else fence["id"])
        assert got.get("liftAsked", False) is self.drain["lift"]
        holds = {hold["resource"]: hold["token"] for hold in got.get("holds", [])}
        assert holds == self.drain["holds"]
