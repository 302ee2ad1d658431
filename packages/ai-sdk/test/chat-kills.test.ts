import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { forms, KillLab } from "./support/chat-kills.ts";

let lab: KillLab;

beforeAll(async () => {
  lab = await KillLab.open();
});

afterAll(() => lab.close());

// All of the first turn and of the last, and what is between them. Answers of tools have 24 events, those of rounds 30.
const instants = [1, 5, 7, 12, 18, 24];
const all = forms.flatMap((form) => instants.map((instant) => [form.name, instant, form] as const));
// Each instant once, and each kind of page.
const sample = [0, 13, 26, 33, 40, 59].flatMap((index) => all.slice(index, index + 1));

test("without a kill: one connection for each round", async () => {
  const [, , created] = forms;
  const calm = await lab.killAt(created as (typeof forms)[number], 0);
  // The second connection is the page that looks on at the end.
  expect(calm).toEqual({ killed: false, instants: 24, calls: 2, effects: 1, connections: 2 });
});

test.each(inject("full") ? all : sample)(
  "SIGKILL of the server, %s, at instant %i: one clean list of messages, no tool twice",
  async (_name, instant, form) => {
    expect(await lab.killAt(form, instant)).toMatchObject({ killed: true });
  },
);
