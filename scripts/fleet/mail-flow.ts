/** Runs that read messages, and check that each sender's come once and in order. */
import { createApp, durable, type App, type Storage } from "@durable/core";

export interface Note {
  readonly sender: string;
  /** Counts the messages of the sender to this run, from 0. */
  readonly n: number;
}

interface State {
  readonly expects: number;
  readonly read: number;
  /** The next number of each sender. */
  readonly next: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

/** Messages per chapter, so that long mailboxes stay cheap to read. */
const chapter = 25;

const mailbox = durable("mailbox", async (ctx, state: State): Promise<State> => {
  const next = { ...state.next };
  const wrong = [...state.wrong];
  let { read } = state;
  for (let here = 0; here < chapter && read < state.expects; here++, read++) {
    const { sender, n } = await ctx.receive<Note>("note");
    const expected = next[sender] ?? 0;
    if (n !== expected) wrong.push(`${sender} ${n} instead of ${expected}`);
    next[sender] = n + 1;
  }
  ctx.report({ read });
  const now = { ...state, read, next, wrong };
  return read < state.expects ? ctx.continueAs(now) : now;
});

/** Message `n` of a sender: it goes to one run after the other. */
export function noteOf(
  sender: string,
  n: number,
  runs: number,
): { readonly run: string; readonly note: Note; readonly id: string } {
  return { run: `run-${n % runs}`, note: { sender, n: Math.floor(n / runs) }, id: `${sender} ${n}` };
}

export function mailApp(storage: Storage): App {
  return createApp({
    storage,
    secret: "a secret for the mailboxes of a long test",
    workflows: [mailbox],
    patience: 0,
  });
}

export function firstState(expects: number): State {
  return { expects, read: 0, next: {}, wrong: [] };
}

/** What is wrong with the output of a run. */
export function wrongWith(output: unknown, expects: number): readonly string[] {
  const { read, wrong } = output as State;
  return read === expects ? wrong : [...wrong, `read ${read} of ${expects} messages`];
}
