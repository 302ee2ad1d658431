/** `pause` and `paused`: workflows whose runs are not driven. Proven in test/conformance.test.ts. */

import type { WorkflowPause } from "@durable/core/storage";
import { expect } from "vitest";
import type { Checks, Subject } from "./subject.ts";

function pauseOf(workflow: string, changes: Partial<WorkflowPause> = {}): WorkflowPause {
  return { workflow, reason: null, since: 1_800_000_000_000.5, ...changes };
}

async function pausedIn(subject: Subject): Promise<WorkflowPause[]> {
  const paused = await subject.optional("paused")();
  return paused.toSorted((a, b) => (a.workflow < b.workflow ? -1 : 1));
}

export const pauseChecks: Checks = {
  "a paused workflow is kept until it is unpaused": async (subject) => {
    const pause = subject.optional("pause");
    expect(await pausedIn(subject)).toEqual([]);
    await pause("loan", pauseOf("loan", { reason: "the bank is closed" }));
    await pause("deploy", pauseOf("deploy"));
    expect(await pausedIn(subject)).toEqual([
      pauseOf("deploy"),
      pauseOf("loan", { reason: "the bank is closed" }),
    ]);
    await pause("loan", null);
    expect(await pausedIn(subject)).toEqual([pauseOf("deploy")]);
    await pause("loan", null);
    await pause("deploy", null);
    expect(await pausedIn(subject)).toEqual([]);
  },

  "a second pause of a workflow replaces the first": async (subject) => {
    const pause = subject.optional("pause");
    await pause("loan", pauseOf("loan"));
    await pause("loan", pauseOf("loan", { reason: "another", since: 7 }));
    expect(await pausedIn(subject)).toEqual([pauseOf("loan", { reason: "another", since: 7 })]);
  },

  "a pause gives back names and reasons as they were written": async (subject) => {
    const pause = subject.optional("pause");
    const names = ["it's; --", "é", "e\u0301", "日本語 🧑‍🚀", "%", "a b"];
    for (const name of names) await pause(name, pauseOf(name, { reason: `why "${name}"\n\u0001` }));
    const found = await pausedIn(subject);
    expect(found.map(({ workflow }) => workflow).toSorted()).toEqual(names.toSorted());
    for (const { workflow, reason } of found) expect(reason).toBe(`why "${workflow}"\n\u0001`);
  },

  "a pause of a workflow changes no run and no list": async (subject) => {
    const pause = subject.optional("pause");
    const head = await subject.create({ workflow: "loan" });
    await pause("loan", pauseOf("loan"));
    expect((await subject.list()).runs).toEqual([head]);
    expect(await subject.due()).toEqual([head.locator]);
  },

  "another handle sees which workflows are paused": async (subject) => {
    const second = await subject.second();
    await subject.optional("pause")("loan", pauseOf("loan"));
    expect(await second.paused?.()).toEqual([pauseOf("loan")]);
    await second.pause?.("loan", null);
    expect(await pausedIn(subject)).toEqual([]);
  },

  "a paused run is listed under its status, and is never due": async (subject) => {
    const head = await subject.create();
    const paused = { ...head, status: "paused", wakeAt: null } as const;
    await subject.storage.append({ locator: head.locator, position: 1, batch: '[1,"p"]', head: paused });
    expect((await subject.list({ status: "paused" })).runs).toEqual([paused]);
    expect((await subject.list()).runs).toEqual([paused]);
    expect(await subject.due()).toEqual([]);
    await subject.storage.append({ locator: head.locator, position: 2, batch: '[1,"u"]', head });
    expect(await subject.locators({ status: "paused" })).toEqual([]);
    expect(await subject.due()).toEqual([head.locator]);
  },

  "a failed run that is retried is running and due again": async (subject) => {
    const head = await subject.create();
    const failed = { ...head, status: "failed", wakeAt: null } as const;
    const { locator } = head;
    await subject.storage.append({ locator, position: 1, batch: '[1,"f"]', head: failed, lease: null });
    expect(await subject.due()).toEqual([]);
    await subject.storage.append({ locator, position: 2, batch: '[1,"r"]', head });
    expect(await subject.due()).toEqual([locator]);
    expect((await subject.list({ status: "failed" })).runs).toEqual([]);
    expect((await subject.list({ status: "running" })).runs).toEqual([head]);
  },
};
