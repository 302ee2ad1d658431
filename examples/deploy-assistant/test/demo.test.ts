import { killDemos } from "example-llm/process";
import { afterEach, expect, test } from "vitest";
import { Place, ServerProcess } from "./support/server-process.ts";

const place = new Place();
afterEach(async () => {
  killDemos();
  await place.remove();
});

test(
  "the demo plays two conversations and a kill -9, and says what came from the journal",
  { timeout: 300_000 },
  async () => {
    const { code, out, err } = await new ServerProcess(place, {}, "src/demo.ts").ended;
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.match(/POST \/webhook: .*/g)).toEqual(
      ["started", "resumed", "resumed", "duplicate", "ignored", "started", "resumed"].map(
        (status) => `POST /webhook: 202 ${status}`,
      ),
    );
    expect(out).toMatch(/kill -9 server 1[^]*server 2 +journal +plan[^]*server 2 +ran +plan#2/);
    expect(out).toMatch(/ran +check .*200 from \/health[^]*ran +check .*503 from \/health[^]*ran +roll-back/);
    expect(out).toContain("Done: 26 steps ran, 2 came from the journal after 1 kill -9, 7 mails went out.");
    // oxlint-disable-next-line eslint/no-control-regex -- these are what is looked for
    expect(out).not.toMatch(/[\u001B\r]/);
  },
);
