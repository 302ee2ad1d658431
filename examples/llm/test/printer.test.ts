import { durable, DurableError, MemoryStorage, type Outcome } from "@durable/core";
import { describe, expect, test } from "vitest";
import { closingLine, exitCodeOf, RunPrinter, terminal, wait, wrapped } from "../src/index.ts";

/** A screen that keeps what was written. */
function screen(extra: { isTTY?: boolean; columns?: number } = {}): {
  write(text: string): void;
  text: string;
} {
  return {
    ...extra,
    text: "",
    write(text) {
      this.text += text;
    },
  };
}

/** No column of times is the same twice. */
const untimed = (text: string): string => text.replace(/ {2}\d+\.\d\d s/g, "  0.00 s");

/** What three lives of one run print: one that ends in a failed attempt, one that carries on, one with nothing to do. */
async function printedLives(): Promise<string[]> {
  const storage = new MemoryStorage();
  const texts: string[] = [];
  for (const life of [1, 2, 3]) {
    const out = screen();
    const printer = new RunPrinter(terminal(out, {}), { describe: (_, value) => `gave ${String(value)}` });
    const flow = durable(
      "printed",
      async (context) => {
        const ctx = printer.watch(context);
        const plan = await ctx.step("plan", () => "a plan");
        const work = () => (life === 1 ? Promise.reject(new Error("503\nwith a body")) : plan);
        await ctx.step("ask", work, { retry: { delay: 100, jitter: false } });
      },
      // Too impatient for any delay: the run is parked.
      { storage, patience: 0 },
    );
    printer.known(
      await flow
        .get("r")
        .entries()
        .catch(() => []),
    );
    const { recorded } = await flow.run(undefined, { id: "r" });
    if (recorded) printer.recorded();
    texts.push(untimed(out.text));
    await wait(150);
  }
  return texts;
}

describe("steps on the screen", () => {
  test("a step that was only cancelled is not shown as failed, and only what has ended well is counted", async () => {
    const out = screen();
    const printer = new RunPrinter(terminal(out, {}));
    const begun = Promise.withResolvers<void>();
    const flow = durable(
      "branches",
      (context) =>
        printer.watch(context).parallel({
          left: async (c) => {
            await c.step("look", () => "found");
            await c.step("refused", () => begun.promise.then(() => Promise.reject(new Error("401"))));
          },
          right: (c) => c.step("long", ({ signal }) => (begun.resolve(), wait(60_000, signal))),
        }),
      { storage: new MemoryStorage(), retry: false },
    );
    const outcome = await flow.run(undefined, { id: "r" });
    expect(outcome.status).toBe("failed");
    const rows = untimed(out.text).replaceAll(/ {2,}/g, "  ");
    expect(rows).toContain("failed  parallel[left]/refused  0.00 s  401\n");
    expect(rows).toContain("stopped  parallel[right]/long  0.00 s\n");
    expect([...printer.settled.ran]).toEqual(["parallel[left]/look"]);
  });

  test("what ran here, what failed here, and what came from the journal", async () => {
    const [first, second, third] = await printedLives();
    expect(first).toBe(
      [
        "  ran      plan            0.00 s       gave a plan",
        "  failed   ask             0.00 s       503",
        "",
      ].join("\n"),
    );
    expect(second).toBe(
      [
        "  journal  plan            0.00 s       gave a plan",
        "  journal  ask             0.00 s       failed: 503",
        "  ran      ask             0.00 s    2  gave a plan",
        "",
      ].join("\n"),
    );
    expect(third).toBe(second?.replace("ran    ", "journal"));
  });
});

describe("colour", () => {
  const paint = (env: Record<string, string>, isTTY: boolean): string =>
    terminal(screen({ isTTY }), env).paint("red", "x");

  test("only on a terminal, and never with NO_COLOR", () => {
    expect(paint({}, true)).toBe("\u001B[31mx\u001B[39m");
    expect(paint({}, false)).toBe("x");
    expect(paint({ NO_COLOR: "1" }, true)).toBe("x");
    expect(paint({ TERM: "dumb" }, true)).toBe("x");
  });

  test("a status is written over on a terminal, and not written elsewhere", () => {
    const write = (isTTY: boolean): string => {
      const out = screen({ isTTY, columns: 60 });
      const lines = terminal(out, { NO_COLOR: "1" });
      lines.line("one");
      lines.status("busy ".repeat(20));
      lines.line("two");
      return out.text;
    };
    expect(write(false)).toBe("one\ntwo\n");
    expect(write(true)).toBe(`one\n${"busy ".repeat(20).slice(0, 56)}...\r\u001B[Ktwo\n`);
  });

  test("text is set in lines", () => {
    expect(wrapped("one two three\nfour", 10, "  ")).toEqual(["  one two", "  three", "  four"]);
    expect(wrapped("a very long line", Number.POSITIVE_INFINITY)).toEqual(["a very long line"]);
  });
});

describe("the last word", () => {
  const options = {
    settled: { ran: new Set(["a"]), journal: new Set(["b", "c"]) },
    again: "run it",
    fresh: "run it --fresh",
  };
  const about = { runId: "r", recorded: false, state: "running" } as const;
  const error = new DurableError("run-failed", "Run r failed: Error: no");
  const point = { key: "approve", name: "approve", token: "t", note: null, schema: null, expiresAt: null };
  const cases: readonly [Outcome<unknown>, string, number][] = [
    [
      { ...about, status: "completed", output: 1 },
      "Done: 1 step ran here, 2 came from the journal. Start over: run it --fresh",
      0,
    ],
    [
      { ...about, recorded: true, status: "completed", output: 1 },
      "nothing ran. Start over: run it --fresh",
      0,
    ],
    [{ ...about, status: "failed", error }, "Run r failed: Error: no", 1],
    [
      { ...about, status: "suspended", waiting: [point], wakeAt: null },
      'It waits for "approve": an answer with its token',
      10,
    ],
    [{ ...about, status: "suspended", waiting: [], wakeAt: 1 }, "nothing wakes it by itself: run it", 10],
    [{ ...about, status: "running", waiting: [] }, "Another process drives this run.", 1],
    [{ ...about, status: "blocked", error, since: 0, waiting: [] }, "Once fixed: run it", 1],
    [{ ...about, status: "cancelled" }, "Cancelled.", 1],
  ];

  test.each(cases)("%o", (outcome, part, code) => {
    const line = closingLine(outcome, options);
    expect(line).toContain(part);
    expect(line).not.toContain("\n");
    expect(exitCodeOf(outcome)).toBe(code);
  });
});
