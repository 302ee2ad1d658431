/** Does a verb to a run, and says in one word what its caller got. */

import { copyRuns, DurableError, MemoryStorage, type App, type Outcome } from "@durable/core";
import type { Verb } from "./cells.ts";
import { canary, versionOf } from "./program.ts";
import type { Stage } from "./stage.ts";
import { inputOf, startOptions, type Subject } from "./states.ts";

/** What a caller got: one word, or `refused` with the code of the error. */
export interface Reply {
  readonly verb: Verb;
  readonly word: string;
  /** The run that a start or a fork gave. */
  readonly run?: string;
  /** Where a copy is. */
  readonly copy?: MemoryStorage;
  /** Answers that were accepted. */
  readonly answers?: readonly string[];
}

export interface Hands {
  readonly stage: Stage;
  readonly subject: Subject;
  readonly sameProcess: boolean;
  /** Makes answers and ids of two equal verbs differ. */
  readonly nth: number;
}

type Given = Omit<Reply, "verb">;

/** Issues a verb at once. */
export async function issue(verb: Verb, hands: Hands): Promise<Reply> {
  return { verb, ...(await given(() => acts[verb](hands, appOf(hands)))) };
}

function appOf({ stage, sameProcess }: Hands): App {
  return stage.app(stage.code, sameProcess ? "first" : "second");
}

const outcomeWord = ({ status }: Outcome<unknown>): Given => ({ word: status });

async function answer(
  app: App,
  how: "resume" | "record",
  { token, value }: { readonly token: string; readonly value: string },
): Promise<Given> {
  const { status } = await app.resume(token, value, { drive: how === "resume" });
  return { word: status, answers: status === "accepted" ? [value] : [] };
}

/** The reply, or the code of the refusal. */
async function given(work: () => Promise<Given>): Promise<Given> {
  try {
    return await work();
  } catch (error) {
    if (DurableError.is(error)) return { word: `refused ${error.code}` };
    throw error;
  }
}

const acts: Readonly<Record<Verb, (hands: Hands, app: App) => Promise<Given>>> = {
  resume: ({ subject: { token }, nth }, app) =>
    answer(app, "resume", { token, value: canary(`answer-${nth}`) }),
  record: ({ subject: { token }, nth }, app) =>
    answer(app, "record", { token, value: canary(`answer-${nth}`) }),
  repeat: async ({ subject: { token }, nth }, app) => {
    const first = await given(() => answer(app, "resume", { token, value: canary(`answer-${nth}`) }));
    const second = await given(() => answer(app, "resume", { token, value: canary(`again-${nth}`) }));
    return {
      word: `${first.word}, ${second.word}`,
      answers: [...(first.answers ?? []), ...(second.answers ?? [])],
    };
  },
  send: async ({ subject: { id }, nth }, app) => {
    const { status } = await app.send(id, "note", canary("note"), { id: `m${nth}` });
    return { word: status };
  },
  cancel: async ({ subject: { id } }, app) => outcomeWord(await app.cancel(id, { reason: canary("reason") })),
  pause: async ({ subject: { id } }, app) =>
    outcomeWord(await app.get(id).pause({ reason: canary("reason") })),
  unpause: async ({ subject: { id } }, app) => outcomeWord(await app.get(id).unpause()),
  retry: async ({ subject: { id } }, app) => outcomeWord(await app.get(id).retry()),
  fork: async ({ subject: { id }, nth }, app) => {
    const fork = await app.get(id).fork({ after: "first", id: `fork-${nth}` });
    return { word: "created", run: fork.id };
  },
  delete: async ({ subject: { id } }, app) => {
    await app.delete(id);
    return { word: "deleted" };
  },
  purge: async (_hands, app) => {
    const { runs } = await app.purge({ keep: 0, status: ["completed", "failed", "cancelled"] });
    return { word: runs > 0 ? "purged" : "nothing to purge" };
  },
  advance: async ({ subject: { id }, stage }, app) => {
    const versions = stage.option === "versions" ? { versions: [versionOf(stage.code)] } : {};
    return outcomeWord(await app.advance(id, versions));
  },
  copy: async ({ stage }) => {
    const copy = new MemoryStorage({ now: () => stage.world.now() });
    const { refused } = await copyRuns(stage.storage, copy);
    const [first] = refused;
    return { word: first === undefined ? "copied" : `refused ${first.error.code}`, copy };
  },
  start: async ({ subject: { id, input, workflow }, stage }, app) => {
    const { repeated } = await app.start(workflow, input, { ...startOptions(stage.option), id, drive: true });
    return { word: repeated ? "found" : "created", run: id };
  },
  another: async ({ stage }, app) => {
    const { repeated, id } = await app.start("work", inputOf("plain"), startOptions(stage.option));
    return { word: repeated ? "found" : "created", run: id };
  },
  deploy: async ({ stage }) => {
    await stage.deploy(stage.code === "right" ? "changed" : "right");
    return { word: "deployed" };
  },
};
