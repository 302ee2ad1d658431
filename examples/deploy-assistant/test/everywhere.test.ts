/** The assistant with a fault at every I/O: model and mail are fakes, the folders are real. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crashEverywhere, recorder } from "@durable/testing";
import { scriptedModel } from "example-llm";
import { afterEach, expect, inject, test } from "vitest";
import { createAssistant } from "../src/assistant.ts";
import { bundleFolder } from "../src/config.ts";
import { Site, type Deploys } from "../src/deployment.ts";
import { emailSchema } from "example-mail";
import { scriptFor } from "../src/script.ts";
import { email, releases } from "./support/desk.ts";

const folder = mkdtempSync(join(tmpdir(), "deploy-everywhere-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const reply = (body: string): object => ({ from: "ada@example.com", body, messageId: "<2@example.com>" });

test("H32 one end, whatever happens; no mail under a second token, and what failed is rolled back", async () => {
  const real = new Site(folder, bundleFolder);
  const post = recorder();
  const site: Deploys = {
    takeTurn: (...args) => real.takeTurn(...args),
    giveTurn: (...args) => real.giveTurn(...args),
    live: (...args) => real.live(...args),
    copy: (...args) => real.copy(...args),
    point: (...args) => real.point(...args),
    // A process for each of some hundred histories would take long. What it would say is known.
    check: async (environment) => ({
      healthy: !real.live(environment)?.startsWith("2."),
      detail: "503 from /health",
    }),
  };
  const assistant = createAssistant({
    model: scriptedModel(scriptFor(releases), { pace: 0 }),
    mailer: {
      line: "noted",
      send: async (message, key) => {
        post.record("mail", { key, payload: { ...message, at: null } });
        return {
          messageId: `<${key}.${message.token}@localhost>`,
          to: message.to,
          subject: "",
          via: "noted",
        };
      },
    },
    site,
    releases,
    timeout: "3 days",
  });
  const report = await crashEverywhere(assistant, {
    input: emailSchema.parse(email("Please put 1.1.0 on staging.", { messageId: "<1@example.com>" })),
    resume: { approval: [reply("Take 2.0.0"), reply("approve")] },
    effects: post,
    reset: () => {
      rmSync(folder, { recursive: true, force: true });
      real.point("staging", real.copy("staging", "1.0.0", "before00"));
    },
    faults: inject("full") ? undefined : ["lose-reply"],
  });
  expect(report.calm.outcome).toMatchObject({ output: { status: "rolled-back", version: "2.0.0" } });
  expect(report.calm.ran).toMatchObject({ plan: 1, "plan#2": 1, mail: 1, "mail#4": 1, "roll-back": 1 });
  expect(report.effects).toEqual([]);
  expect(report.cases.length).toBeGreaterThan(inject("full") ? 100 : 20);
  for (const { ran } of report.cases)
    for (const [key, count] of Object.entries(ran))
      expect(count - (report.calm.ran[key] ?? 0), key).toBeLessThanOrEqual(1);
  expect(real.live("staging")).toBe("1.0.0-before00");
});
