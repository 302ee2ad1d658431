import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { forms, instants, KillLab } from "./support/chat-kills.ts";

let lab: KillLab;

beforeAll(async () => {
  lab = await KillLab.open();
});

afterAll(() => lab.close());

const all = forms.flatMap((form) =>
  instants.map((instant) => [form.name, instant.event, instant, form] as const),
);
// `npm run soak:chat` has all of them, `npm run test:full` many. Here: early and late, on two pages;
// kills in the middle are in chat.test.ts as well.
const sample = [0, 59].flatMap((index) => all.slice(index, index + 1));

test("without a kill: one connection for each round", async () => {
  const [, , created] = forms;
  const calm = await lab.killAt(created as (typeof forms)[number], { event: 0 });
  // The second connection is the page that looks on at the end.
  expect(calm).toEqual({ killed: false, shown: 0, instants: 24, calls: 2, effects: 1, connections: 2 });
});

test.each(inject("full") ? all.filter((_, index) => index % 2 === 0) : sample)(
  "H47 SIGKILL of the server, %s, at instant %i: one clean list of messages, no tool twice",
  async (_name, _event, instant, form) => {
    const { killed, shown } = await lab.killAt(form, instant);
    expect(killed).toBe(true);
    if (instant.shows !== undefined) expect(shown).toBeGreaterThan(0);
  },
);
