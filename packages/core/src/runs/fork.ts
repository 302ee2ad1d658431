/**
 * Creates forks (law 9): the parent is read once, one small batch is written, nothing is copied.
 * A fork keeps entries by what caused what, not by their order: see lineage.ts.
 */

import { encode } from "../values/codec/encode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "../engine/definition.ts";
import { writeFact } from "../journal/batch.ts";
import { advance } from "./drive.ts";
import { replay } from "./replay.ts";
import type { Ancestor, Cut, Fact } from "../journal/entry.ts";
import { DurableError, show } from "../values/errors.ts";
import { Keys, type CalledEntry, type Edited, type Places } from "./fork-keys.ts";
import type { Host } from "./host.ts";
import { RunJournal } from "../journal/journal.ts";
import { assertRunId, locatorOf } from "../journal/keys.ts";
import { atOnce, limits } from "../values/limits.ts";
import { deadlineAt } from "../engine/deadline.ts";
import { assertRunOf, encodeInput, newNonce, definitionOf, openRun } from "./lookup.ts";
import { isKept } from "../journal/lineage.ts";
import { allowed, assertOptions, defined } from "../values/options.ts";
import { scrub } from "../values/scrub.ts";
import { flowOf } from "./flow.ts";
import type { Outcome } from "../journal/outcome.ts";
import { isSettlement } from "../journal/kinds.ts";

/** Options of `fork`: where to go back to, and what to change. */
export interface ForkOptions<Input = unknown> extends Places {
  /** Recorded outputs to replace, by key; what came after them runs again. */
  readonly edit?: Readonly<Record<string, unknown>> | undefined;
  /** Another input for the fork; that of the parent by default. */
  readonly input?: Input | undefined;
  /**
   * System prompts to replace, by their texts: calls of models that run again ask with the other one, up to the end of the
   * chapter. A text is that of the code, or that of the parent if it is a fork with other prompts.
   */
  readonly prompts?: Readonly<Record<string, string>> | undefined;
  /** The chapter to fork; the current one by default. */
  readonly chapter?: number | undefined;
  /** A short text that distinguishes this fork from others, for lists. */
  readonly label?: string | undefined;
  /**
   * The id of the fork; random by default. If a fork of the same parent has this id, that one is returned.
   */
  readonly id?: string | undefined;
  /** `allow`: new calls run, also where they may be recorded ones under another name or with another prompt. */
  readonly changes?: "allow" | undefined;
}

/** Options of a fork that an eval makes. */
export type EvalForkOptions = ForkOptions & { readonly eval?: string };

const forkOptions = "from after edit input prompts label id chapter changes";

type Forked = Fact<Json> & { readonly kind: "run.forked" };

/** Writes the fork and returns its id. If a fork of the same parent has this id, that fork is used. */
export async function createFork(
  host: Host,
  definition: Definition,
  parent: RunJournal,
  options: EvalForkOptions,
): Promise<string> {
  const fact = await forkOf(host, definition, parent, options);
  const { runId, parent: parentId } = fact;
  const journal = new RunJournal(locatorOf(runId), await host.journals());
  const appended = await journal.append([writeFact(fact, host.world.now())], { learn: false });
  if (appended.kind !== "landed" && journal.state.summary.parent !== parentId) {
    throw new DurableError(
      "conflict",
      `Run ${runId} already exists and is not a fork of run ${parentId}. Choose another id.`,
    );
  }
  return runId;
}

/** The first fact of a fork, with checked edits. */
export async function forkOf(
  host: Host,
  definition: Definition,
  parent: RunJournal,
  options: EvalForkOptions,
): Promise<Forked> {
  const parentId = parent.runId;
  assertOptions(options, `${forkOptions} eval`, `The fork of run ${parentId}`);
  const changes = allowed(options.changes, `The fork of run ${parentId}`);
  const runId = options.id ?? host.world.id();
  assertRunId(runId);
  const label = checkedLabel(options.label);
  const { tags, scope } = parent.state.summary;
  const known = new Keys(parent);
  const edits = Object.entries(options.edit ?? {}).map(([name, value]) => known.edit(name, value));
  const asked = [...known.cuts(options), ...edits.flatMap(({ cut }) => cut)];
  const edited = new Set(edits.map(({ key }) => key));
  const undone = parent.state.undone ? undoneCuts(parent, edited) : [];
  const cuts = [...asked, ...undone];
  if (asked.length === 0 && edits.length === 0) {
    throw new DurableError(
      "invalid-options",
      `The fork of run ${parentId} has no place to go back to. Pass { from }, { after } or { edit }.`,
    );
  }
  const input = options.input !== undefined ? { input: await encodeInput(definition, options.input) } : {};
  const prompts = checkedPrompts(options.prompts, parentId);
  const { eval: evalName } = options;
  // The limits of production do not hold for an eval, and its runs have no part in them.
  const flow =
    definition.flow === undefined || evalName !== undefined
      ? undefined
      : await flowOf(host, definition, input.input ?? parent.input);
  const fact: Forked = {
    kind: "run.forked",
    runId,
    nonce: newNonce(host.world, runId),
    workflow: definition.name,
    version: definition.version,
    parent: parentId,
    label,
    ...defined({ tags, scope, flow }),
    base: parent.seq,
    ancestry: ancestryOf(parent, cuts),
    edits: known.edits(edits, cuts),
    ...(asked.length === 0 ? {} : { cuts: asked }),
    ...input,
    ...defined({ prompts }),
    ...deadlineAt(host, definition.defaults.deadline),
    ...defined({ eval: evalName }),
    ...changes,
  };
  return edits.length === 0 ? fact : checkedEdits(host, definition, fact, edits);
}

/** The journal that a fork would have. It is not written. */
export async function previewFork(host: Host, fact: Forked): Promise<RunJournal> {
  const journal = new RunJournal(locatorOf(fact.runId), await host.journals());
  // The journal makes an entry of what it is given, and the fact itself is written later.
  await journal.imagine({ ...fact }, host.world.now());
  return journal;
}

/**
 * An edited output must fit the schema of its step. Only the code has the schema, so it is replayed up to the step. If
 * the code does not reach the step, or does not fit the journal, the edit cannot be checked and is accepted.
 */
async function checkedEdits(
  host: Host,
  definition: Definition,
  fact: Forked,
  edited: readonly Edited[],
): Promise<Forked> {
  const checked = new Map<string, Json>();
  const refused: string[] = [];
  await replay(host, definition, await previewFork(host, fact), async ({ calls }) => {
    for (const { key, value, json } of edited) {
      const verdict = (await calls.get(key)?.check?.(value)) ?? { value: json };
      if (typeof verdict === "string") refused.push(`"${key}": ${verdict}`);
      else checked.set(key, verdict.value);
    }
  });
  if (refused.length > 0)
    throw new DurableError(
      "invalid-input",
      `An edit of run ${fact.parent} does not fit the schema of the call that it replaces: ${refused.join("; ")}. No fork was created.`,
      { details: { keys: edited.map(({ key }) => key) } },
    );
  return {
    ...fact,
    edits: fact.edits.map((edit) => {
      const value = checked.get(edit.key);
      return value === undefined ? edit : { ...edit, value };
    }),
  };
}

function checkedLabel(label: string | undefined): string | null {
  if (label === undefined) return null;
  const text = typeof label === "string" ? scrub(label) : "\n";
  if (text.length <= limits.labelLength && !/\p{Cc}/u.test(text)) return text;
  throw new DurableError(
    "invalid-options",
    `${show(label)} is not a valid label. Use one line of at most ${limits.labelLength} characters.`,
  );
}

function checkedPrompts(prompts: ForkOptions["prompts"], parentId: string): Json | undefined {
  if (prompts === undefined) return undefined;
  const texts = Object.entries(Object(prompts) as Record<string, unknown>);
  if (typeof prompts === "object" && texts.length > 0 && texts.every(([, text]) => typeof text === "string"))
    return encode(prompts, `prompts of a fork of run ${parentId}`);
  throw new DurableError(
    "invalid-options",
    `The fork of run ${parentId} has invalid prompts. Pass { [system prompt]: other system prompt }, both as texts.`,
  );
}

/** The parent's ancestors and the parent itself, each with those new cuts that remove something from it. */
function ancestryOf(parent: RunJournal, cuts: readonly Cut[]): Ancestor[] {
  const { first, nonce } = parent;
  const named = first.kind === "run.forked" ? first.ancestry : [];
  const base = first.seq - 1;
  const { chapter: from } = parent.state.summary;
  const own = {
    runId: parent.runId,
    length: parent.position,
    base,
    cuts: [],
    nonce,
  };
  // At the end of a long line the parent stands for all before it.
  const anchored = named.length >= atOnce.ancestors;
  const runs: readonly Ancestor[] = [
    ...(anchored ? [] : named),
    { ...own, ...defined({ from }), ...(anchored ? ({ above: true } as const) : {}) },
  ];
  const line = runs.map((run, i): Ancestor => {
    if (run.above) return { ...run, cuts: [...run.cuts, ...cuts] };
    // Entries before the base of the next run in the line belong to this run or its ancestors.
    const end = runs[i + 1]?.base ?? parent.seq;
    const theirs = parent.entries.filter((entry) => "key" in entry && entry.seq <= end) as CalledEntry[];
    return {
      ...run,
      cuts: [...run.cuts, ...cuts.filter((cut) => !theirs.every((entry) => isKept(entry, [cut])))],
    };
  });
  // A fork that contributes nothing of its own is left out, so that a long line of forks does not cost reads.
  const gives =
    anchored ||
    first.kind !== "run.forked" ||
    first.edits.length > 0 ||
    first.input !== undefined ||
    first.prompts !== undefined ||
    parent.entries.some(
      (entry) =>
        entry.seq > base && (entry.kind === "message.sent" || ("key" in entry && isKept(entry, cuts))),
    );
  return gives ? line : line.slice(0, -1);
}

/** Creates a fork, and drives it in the background. With `asked`, the run must be one of that workflow. */
export async function forkRun(
  host: Host,
  runId: string,
  options: ForkOptions,
  asked?: Definition,
): Promise<{ id: string; driving: Promise<{ outcome: Outcome<unknown>; journal: RunJournal }> }> {
  const parent = await openRun(host, runId, options.chapter);
  if (asked !== undefined) assertRunOf(parent, asked.name);
  const definition = asked ?? definitionOf(host, parent);
  const id = await createFork(host, definition, parent, options);
  const driving = openRun(host, id).then(async (journal) => ({
    outcome: await advance(host, definition, journal),
    journal,
  }));
  host.background(`run ${id}`, driving);
  return { id, driving };
}

/**
 * Effects that the parent undoes no longer exist, so a fork does them again, with all that depends on them. The effect of
 * a step whose compensation failed still exists, and a step that is edited is replaced.
 */
export function undoneCuts({ entries, state }: RunJournal, edited: ReadonlySet<string>): Cut[] {
  const failed = new Set(entries.map((entry) => (entry.kind === "step.failed" ? entry.key : "")));
  return [...state.undoable].flatMap(([key, { call }]): Cut[] => {
    const settled = entries.find((entry) => isSettlement(entry) && entry.key === key);
    const stays = call !== "step" || failed.has(`${key}/compensate`) || edited.has(key);
    return stays || settled === undefined ? [] : [{ key, at: settled.seq, keep: false }];
  });
}
