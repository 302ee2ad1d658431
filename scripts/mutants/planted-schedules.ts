/** Bugs in schedules. */
import type { PlantedBug } from "./patch.ts";

function seenBy(test: string): { readonly test: string; readonly because: string } {
  return {
    test: `packages/core/test/${test}.test.ts`,
    because: "no simulation has the clock of a time zone, or looks into the records of a bucket",
  };
}

export const plantedInSchedules: readonly PlantedBug[] = [
  {
    name: "step-beyond-its-field",
    breaks: "cron.1",
    find: "!(by >= 1) || by > field.high - field.low + 1",
    replace: "!(by >= 1)",
    why: "`*/90` as minute is accepted, and means every hour.",
    seenBy: seenBy("schedules/cron"),
  },
  {
    name: "time-that-does-not-exist",
    breaks: "zone.1",
    find: "found.filter((instant) => this.wallAt(instant) === wall)",
    replace: "found",
    why: "A time that the clock jumps over has an instant.",
    seenBy: seenBy("schedules/ticks"),
  },
  {
    name: "jumped-over",
    breaks: "ticks.1",
    find: "return [instants[0] ?? this.#zone.afterGap(wall)];",
    replace: "return instants.slice(0, 1);",
    why: "A daily tick at 2:30 does not happen on the day on which the clock jumps over it.",
    seenBy: seenBy("schedules/ticks"),
  },
  {
    name: "hour-that-exists-twice",
    breaks: "ticks.2",
    find: "    if (this.#cron.everyHour) return instants;\n",
    replace: "",
    why: "An hourly schedule leaves out the second of two equal hours.",
    seenBy: seenBy("schedules/ticks"),
  },
  {
    name: "periods-from-now",
    breaks: "ticks.3",
    find: "next: (after) => (Math.floor(after / ms) + 1) * ms,",
    replace: "next: (after) => after + ms,",
    why: "Periods are counted from the last tick that was looked at, so that processes find different ticks.",
    seenBy: seenBy("schedules/ticks"),
  },
  {
    name: "input-in-clear",
    breaks: "record.1",
    find: "if (cipher === null) return { ...rest, input, isSealed: false, fingerprint };",
    replace: "if (fingerprint !== '') return { ...rest, input, isSealed: false, fingerprint };",
    why: "The input of a schedule is not encrypted.",
    seenBy: seenBy("schedules/manage"),
  },
  {
    name: "run-beside-the-decision",
    breaks: "fire.1",
    find: "return { ...next, pending: pendingOf(name, at) };",
    replace:
      "{ void startRun(host, schedule, tickId(name, at)); return { ...next, last: pendingOf(name, at) }; }",
    why: "The cursor moves without the name of the run, so that a crash loses the tick.",
  },
  {
    name: "next-tick-before-its-run",
    breaks: "fire.2",
    find: "const started = pending !== null && (await begin(host, schedule, pending));",
    replace:
      "if (pending !== null) void begin(host, schedule, pending).then(() => onStart(pending.runId));\n    const started = false as boolean | null;",
    why: "A tick counts as started before its run exists.",
  },
  {
    name: "tick-given-up",
    breaks: "fire.3",
    find: '    if (!DurableError.is(error, "input-mismatch") && !DurableError.is(error, "run-exists")) throw error;\n  }\n  // The definition',
    replace: "    void error;\n  }\n  // The definition",
    why: "A tick whose run cannot be created now is passed over.",
  },
  {
    name: "stranger-as-tick",
    breaks: "fire.4",
    find: 'return found === null || found.schedule === name ? false : "taken";',
    replace: "return false;",
    why: "Whoever starts a run under the id of a tick takes the tick.",
    seenBy: seenBy("schedules/trust"),
  },
  {
    name: "row-without-seal",
    breaks: "record.2",
    find: "if (cipher !== null && !(seal === undefined && cipher.acceptsPlain)) {",
    replace: "if (cipher !== null && seal !== undefined) {",
    why: "A row whose seal was removed is believed.",
    seenBy: seenBy("schedules/trust"),
  },
  {
    name: "tick-of-any-run",
    breaks: "record.3",
    find: "if (isOwn(last) && isOwn(pending) && (cancels === null",
    replace: "if (isOwn(last) && (cancels === null",
    why: "A row names the run that a tick starts.",
    seenBy: seenBy("schedules/trust"),
  },
  {
    name: "defined-at-every-start",
    breaks: "manage.1",
    find: "    if (before?.fingerprint === fingerprint) return infoOf(before);\n",
    replace: "",
    why: "Every start of a program writes its schedules again.",
    seenBy: seenBy("schedules/manage"),
  },
  {
    name: "late-record-counts",
    breaks: "registers.1",
    find: "if (last !== null && (await this.#record(id, last.number))?.version !== last.version) {",
    replace: "if (last !== null && id === '') {",
    why: "A writer that slept while the log moved on takes a deleted key for a new one, and its write for the last.",
    seenBy: seenBy("adapters/remote/schedules"),
  },
  {
    name: "deleted-schedule-returns",
    breaks: "registers.2",
    find: "if (present !== expected) return false;",
    replace: "if (present !== null && present !== expected) return false;",
    why: "A writer that has read a schedule before it was deleted brings it back.",
    seenBy: seenBy("adapters/remote/schedules"),
  },
  {
    name: "schedule-without-a-sign",
    breaks: "registers.3",
    find: '    if (number === 1) await this.#bucket.put(this.#signs + id, "0");\n',
    replace: "",
    why: "A schedule whose writer died after its first record is never listed.",
    seenBy: seenBy("adapters/remote/schedules"),
  },
];
