import { describe, expect, it } from "vitest";
import { Groups } from "../src/groups.ts";

/** Calls are texts; a call "bad" is at fault, and a statement with "cut" has an unknown outcome. */
function lab(flights = 2) {
  const statements: string[][] = [];
  const open: (() => void)[] = [];
  const groups = new Groups<string, string>({
    flights,
    locatorOf: (call) => call,
    sizeOf: (call) => call.length,
    send: async (calls) => {
      statements.push([...calls]);
      await new Promise<void>((resolve) => void open.push(resolve));
      if (calls.includes("cut")) throw new Error("Connection terminated unexpectedly");
      if (calls.includes("bad"))
        throw Object.assign(new Error("too large"), { code: "54000", severity: "ERROR" });
      return calls.map((call) => `did ${call}`);
    },
  });
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  const finish = async (): Promise<void> => {
    open.shift()?.();
    await turn();
  };
  return { statements, groups, turn, finish };
}

describe("groups", () => {
  it("groups.2: a lone call is sent in this turn", async () => {
    const { statements, groups, turn } = lab();
    void groups.add("a");
    await turn();
    expect(statements).toEqual([["a"]]);
  });

  it("groups.2: while a single run makes calls, each is sent in this tick; another run ends that", async () => {
    const { statements, groups, turn, finish } = lab();
    void groups.add("a");
    await turn();
    await finish();
    void groups.add("a");
    await new Promise((resolve) => process.nextTick(resolve));
    expect(statements).toEqual([["a"], ["a"]]);
    await finish();
    void groups.add("b");
    await new Promise((resolve) => process.nextTick(resolve));
    expect(statements).toHaveLength(2);
    void groups.add("a");
    await turn();
    expect(statements.at(-1)).toEqual(["a", "b"]);
  });

  it("groups.1, groups.3: calls that come meanwhile share the next statement, in the order of their runs", async () => {
    const { statements, groups, turn, finish } = lab(1);
    const first = groups.add("z");
    await turn();
    const others = ["c", "a", "b"].map((call) => groups.add(call));
    await turn();
    expect(statements).toEqual([["z"]]);
    await finish();
    expect(await first).toBe("did z");
    await turn();
    expect(statements).toEqual([["z"], ["a", "b", "c"]]);
    await finish();
    expect(await Promise.all(others)).toEqual(["did c", "did a", "did b"]);
  });

  it("groups.6: calls of one run are under way one after the other, in their order", async () => {
    const { statements, groups, turn, finish } = lab(2);
    const calls = ["a", "a", "b", "a"].map((call) => groups.add(call));
    for (let n = 0; n < 4; n++) {
      await turn();
      expect(statements.at(-1)?.filter((call) => call === "a").length).toBeLessThanOrEqual(1);
      await finish();
      await turn();
    }
    await Promise.all(calls);
    expect(statements).toEqual([["a", "b"], ["a"], ["a"]]);
  });

  it("groups.4: a call that is at fault does not affect the others", async () => {
    const { statements, groups, turn, finish } = lab(1);
    const calls = ["a", "bad", "c"].map((call) => groups.add(call).catch((error: Error) => error.message));
    for (let n = 0; n < 5; n++) {
      await turn();
      await finish();
    }
    expect(await Promise.all(calls)).toEqual(["did a", "too large", "did c"]);
    expect(statements).toEqual([["a", "bad", "c"], ["a"], ["bad"], ["c"]]);
  });

  it("groups.5: after an unknown outcome every call is rejected, and nothing is sent again", async () => {
    const { statements, groups, turn, finish } = lab(1);
    const calls = ["a", "cut"].map((call) => groups.add(call).catch((error: Error) => error.message));
    await turn();
    await finish();
    expect(await Promise.all(calls)).toEqual(Array(2).fill("Connection terminated unexpectedly"));
    expect(statements).toEqual([["a", "cut"]]);
  });
});
