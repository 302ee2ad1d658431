/** The answers of the offline model. They depend only on the conversation. Proven in test/script.test.ts. */

import type { Reply, Script } from "example-llm";
import { otherWords, type Tides } from "./answer.ts";

type Prompt = Parameters<Script>[0];

interface Topic {
  readonly about: RegExp;
  /** The answer, and the same in other words for a user who asks again. */
  readonly answers: readonly [string, string];
}

const topics: readonly Topic[] = [
  {
    about: /\btides?\b.*\b(?:twice|two)\b|\b(?:twice|two)\b.*\btides?\b/i,
    answers: [
      "The Moon pulls on the near side of the Earth more strongly than on its centre, and on the centre more strongly than on the far side. So the sea is stretched: it rises on the side that faces the Moon, and on the opposite side as well.\n\nThe Earth turns under these two bulges once a day. A harbour passes both, and has high water twice. The Moon moves on meanwhile, which is why each tide is about fifty minutes later than the day before.\n\nTwice a month the Sun pulls along the same line. Then the range is largest, and sailors speak of spring tides.",
      "Think of the Earth as turning inside a sea that is slightly longer than it is wide. The Moon made it so: its pull is stronger on the near side and weaker on the far side, and the water bulges at both ends.\n\nEvery place on the coast is carried past both ends in a day, and so the water comes up two times. Because the Moon itself moves along its orbit, the whole pattern arrives some fifty minutes later each day.\n\nWhen Sun and Moon stand in line, both stretch the sea the same way, and the highest tides of the month follow.",
    ],
  },
  {
    about: /\bserver\b|\bcrash|\bkill|\bdies?\b/i,
    answers: [
      "Nothing is lost. Every word that you see was written to a journal before it was sent to this page, and the run that writes the answer is described there as well.\n\nIf the server is killed now, this page notices that the connection broke, and tries again until a server responds. The new process reads the journal, continues the run, and the page gets the rest of the answer.\n\nOnly the model call that was interrupted is made again. Calls that had ended, and e-mails that were sent, are read from the journal and not repeated. Try it: this answer is slow enough.",
      "You would see the words stop for a moment, and then go on. The page reconnects by itself, and the next process finds the run in its journal.\n\nWhat was finished stays finished: a recorded model call is not paid for twice, and a recorded e-mail is not sent twice. The call that was cut off in the middle is made again, so its words may differ from the ones you had seen.\n\nThis works because the answer belongs to a run and not to a request. Any number of pages may read it, and none of them has to be there for it to continue.",
    ],
  },
];

/** Asked for the tides of a harbour, the model thinks, looks them up, and answers with all that the page can show. */
const about = /\bhigh water\b.*\bin (\w+)/i;

const fallback: Topic["answers"] = [
  "I am a script, so I know only a little: ask me why there are two tides a day, what happens when the server dies, or ask me to send an e-mail.\n\nWhatever you ask, the answer arrives word by word, as a real model would write it. Each word is recorded first and shown afterwards. You can stop this answer, edit your question, or ask for another answer, and open the same chat in a second tab.\n\nWith the key of a provider in the environment, a real model answers here instead of me.",
  "There is no model behind this answer, only a script with three subjects: the tides, a server that dies, and e-mails that need your permission.\n\nThe page does not know that. It shows the words as they come in, and it would do the same with a real model. Press Stop in the middle of a sentence, change your question, or open this address in another tab, and see what happens.\n\nSet the key of a provider before you start the server, and a real model takes over.",
];

/** `usesOtherWords`: real models choose their words anew in every call, and so may the script. */
export function scriptOf({ usesOtherWords = false } = {}): Script {
  return (prompt) => {
    const question = lastQuestion(prompt);
    const files = attachments(prompt);
    if (files.length > 0)
      return { text: `I see ${files.join(" and ")}, but I am a script and cannot look inside.` };
    if (/\be-?mails?\b/i.test(question)) return mailReply(prompt, question);
    const [, harbour] = about.exec(question) ?? [];
    if (harbour !== undefined) return tidesReply(prompt, harbour);
    const { answers } = topics.find(({ about }) => about.test(question)) ?? { answers: fallback };
    return { text: answers[usesOtherWords || wantsOtherWords(prompt) ? 1 : 0] };
  };
}

function mailReply(prompt: Prompt, question: string): Reply {
  const status = decision(prompt);
  const to = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(question)?.[0] ?? "harbour@example.org";
  if (status === "sent") return { text: `Done. The e-mail to ${to} is sent, and it was sent exactly once.` };
  if (status !== null) return { text: `I did not send the e-mail to ${to}. Tell me if you want it changed.` };
  const subject = "High water tomorrow";
  const body =
    "Good morning,\n\ntomorrow's high water is at 06:40, which is later than the plan says. Please open the lock at 06:10, so that the fishing boats can leave with the tide.\n\nThank you!";
  return {
    text: "Here is the e-mail. It leaves only if you allow it.",
    calls: [{ tool: "sendEmail", input: { to, subject, body } }],
  };
}

function tidesReply(prompt: Prompt, harbour: string): Reply {
  const table = resultOf(prompt) as Tides | null;
  if (table === null)
    return {
      reasoning: `The user wants the tides of ${harbour}. They depend on the day, so I should not answer from memory: the tool lookUpTides has them.`,
      text: "Let me look that up.",
      calls: [{ tool: "lookUpTides", input: { harbour } }],
    };
  const rows = table.tides.map(({ at, height }) => `| ${at} | **${height} m** |`).join("\n");
  return {
    text: `Here are the tides of **${harbour}**:

| High water | Height |
|---|---|
${rows}

Two things to know:

1. The time between two tides is about 12 hours and 25 minutes.
2. Wind from the sea can add up to a metre, see the [tide tables](https://example.org/tides).

To work with them in a program:

\`\`\`ts
// The next high water, from the one before.
const next = (last: Date): Date => new Date(last.getTime() + 745 * 60_000);
console.log(next(new Date("2026-11-19T${table.tides[0]?.at ?? "06:40"}Z")));
\`\`\``,
    sources: [
      { url: "https://example.org/tides", title: "Tide tables" },
      { url: "https://example.org/moon", title: "How the Moon pulls" },
    ],
  };
}

/** Names of the files of the last question. */
function attachments(prompt: Prompt): string[] {
  const message = prompt.findLast(({ role }) => role === "user");
  if (message?.role !== "user") return [];
  return message.content.flatMap((part) => (part.type === "file" ? [part.filename ?? "a file"] : []));
}

function lastQuestion(prompt: Prompt): string {
  const message = prompt.findLast(({ role }) => role === "user");
  if (message?.role !== "user") return "";
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** What became of the e-mail of this question; `null` if there is none yet. */
function decision(prompt: Prompt): string | null {
  const result = resultOf(prompt) as { readonly status?: string } | null;
  return result === null ? null : (result.status ?? "");
}

/** What the tool of this question returned; `null` if there is none yet. */
function resultOf(prompt: Prompt): unknown {
  const asked = prompt.findLastIndex(({ role }) => role === "user");
  for (const message of prompt.slice(asked)) {
    if (message.role !== "tool") continue;
    for (const part of message.content)
      if (part.type === "tool-result" && part.output.type === "json") return part.output.value;
  }
  return null;
}

function wantsOtherWords(prompt: Prompt): boolean {
  return prompt.some(({ role, content }) => role === "system" && content.includes(otherWords));
}
