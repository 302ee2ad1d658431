/** Bugs in messages, reports and answers that are failures. */
import type { PlantedBug } from "./patch.ts";

const messages = "packages/core/test/runs/messages.test.ts";
const order = "packages/core/test/runs/messages-order.test.ts";

export const plantedInMessages: readonly PlantedBug[] = [
  {
    name: "message-read-again",
    breaks: "mailbox.1",
    find: "this.unread.delete(entry.answer);",
    replace: "this.unread.get(entry.answer);",
    why: "A message that was read is unread for the next driver, which hands it out again.",
  },
  {
    name: "unread-messages-lost-with-the-chapter",
    breaks: "mailbox.2",
    find: "const messages = carried(mailbox);",
    replace: "const messages = undefined;",
    why: "Messages that a chapter has not read are gone in the next one.",
  },
  {
    name: "any-message-taken",
    breaks: "suspend.4",
    find: "if (message.topic !== topic || this.#taken.has(message.seq)) continue;",
    replace: "if (message.topic !== topic) continue;",
    why: "Two receives of a topic that are open together take the same message.",
  },
  {
    name: "message-lost-with-its-race",
    breaks: "suspend.4",
    find: 'if (message?.kind === "message.sent") this.engine.calls.putBack(message);',
    replace: "",
    why: "A message whose receive loses a race is never given to the next receive.",
    seenBy: {
      test: "packages/core/test/runs/messages-order.test.ts",
      because: "the moment between a verdict and its append is short",
    },
  },
  {
    name: "later-message-kept",
    breaks: "suspend.4",
    find: "call.topic === message.topic ? (call.giveBack?.(message.seq) ?? null) : null",
    replace: "null as number | null",
    why: "When a receive that lost a race gives its message back, an open receive keeps a later one, and reads it first.",
    seenBy: { test: order, because: "the moment between a verdict and its append is short" },
  },
  {
    name: "message-after-a-settlement",
    breaks: "outbox.6",
    find: "waits ||= settles &&",
    replace: "waits ||= false && settles &&",
    why: "A receive takes a message in the batch that decides the race around it, and the message is lost.",
  },
  {
    name: "timeout-before-a-held-verdict",
    breaks: "outbox.6",
    find: "return !(waits && (traitsOf(fact).settles || isVerdict(fact)));",
    replace: "return !(waits && isVerdict(fact));",
    why: "A receive times out although a message for it was recorded before, and its verdict waits for the next batch.",
    seenBy: {
      test: order,
      because: "an answer, a message and a timeout must meet in one drive",
    },
  },
  {
    name: "timeout-before-an-earlier-message",
    breaks: "suspend.5",
    find: "if (this.#late !== null) this.engine.withdraw(this.#late);",
    replace: "",
    why: "A timeout that was queued when a message came is recorded after the verdict on the message.",
  },
  {
    name: "withdrawn-fact-written",
    breaks: "outbox.5",
    find: 'if (this.#withdrawn.has(fact)) return { settled: "closed" };',
    replace: "",
    why: "A verdict on a message is recorded although its receive was closed before, and the message is read twice.",
    seenBy: { test: messages, because: "the moment between a verdict and its append is short" },
  },
  {
    name: "fork-reads-again-what-it-inherits",
    breaks: "lineage.5",
    find: "for (const message of messages.values()) if (!read.has(message.seq)) entries.push(message);",
    replace: "for (const message of messages.values()) entries.push(message);",
    why: "A fork reads messages again that its inherited calls have read.",
    seenBy: { test: messages, because: "few simulated forks keep a receive and receive again" },
  },
  {
    name: "id-forgotten",
    breaks: "send.1",
    beside: "send.1.",
    find: "if (known !== undefined) return",
    replace: "if (known !== undefined && contentOf(known) !== contentOf(fact)) return",
    why: "A message that is sent again under its id is read twice.",
  },
  {
    name: "message-after-the-end",
    breaks: "send.2",
    find: 'if (end !== null) return { status: "ended", repeated: false };',
    replace: "",
    why: "A message is appended to a run that has ended.",
  },
  {
    name: "report-of-every-append",
    breaks: "fold.6",
    find: "isInherited ? report.value : undefined",
    replace: "report?.value",
    why: "Every append of a run with a report writes it again.",
    seenBy: {
      test: "packages/core/test/runs/report.test.ts",
      because: "the result is the same, and only the appends cost more",
    },
  },
  {
    name: "sealed-report-breaks-lists",
    breaks: "send.3",
    find: ".catch(() => undefined)",
    replace: "",
    also: [
      {
        find: "if (cipher === null) return undefined;",
        replace: 'if (cipher === null) throw new Error("no key");',
      },
    ],
    why: "A process without the key of one run cannot list any run.",
    seenBy: {
      test: "packages/core/test/runs/report.test.ts",
      because: "every simulated process has the keys",
    },
  },
];
