/** The invariants that a simulation checks, in words. Proven in test/sim.test.ts. */

/** What each invariant of the simulator says, by its id. */
export const invariants: Readonly<Record<string, string>> = {
  I1: "one value per key, the same in every pass",
  I2: "a cold start reproduces the end and does no work",
  I3: "what is recorded ran, and no recorded work runs twice",
  I4: "every run ends, or waits for something that can come",
  I5: "the output is what the journal says",
  I6: "one answer per wait",
  I7: "a fork gets what its ancestors recorded",
  I8: "a dense journal, one writer after the other, and status is its fold",
  I9: "nothing starts after a known cancellation, in a terminated process, or in a lost branch",
  I10: "no timer is early",
  I11: "no unhandled rejection, nothing left behind",
  I12: "no work starts without a lease or a place, and no effect is repeated without a decision",
  I13: "a reader of a stream gets each attempt in order, and the last one whole",
  I14: "code sees the async context of its drive, and work that of its call",
  I15: "hooks report what is recorded, once, and affect nothing",
  I16: "what has begun is undone after a failure and a cancel, latest first, once, and never after a completion",
  I20: "a paused run is not driven on",
  I21: "a run fails by its deadline after that time, and not before",
  I22: "a retry takes back one failure of a failed run",
  I30: "no more runs of a workflow are driven than it has slots",
  I31: "a tick of a schedule is decided once, by its rules, and has one run",
  I32: "a workflow that is known to be paused is not driven on",
  I33: "a worker of some workflows or versions drives no run of others",
};
