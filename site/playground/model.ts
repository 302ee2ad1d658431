/**
 * The outside of a program in the playground: a model that follows a script, and services. Each call is counted, and priced,
 * when it is made, as a provider does. A prompt that is sent again gets another answer, so repeated work can be seen.
 */
import type { Prices } from "@durable/core/inspect";
import type { StepInfo } from "@durable/core";
import type { OutsideCall, Pace } from "./protocol.ts";

/** Dollars for a million tokens. */
export const prices: Prices = {
  "atlas-2": { input: 3, output: 15 },
  "swift-1": { input: 0.5, output: 2 },
};

/** Options of `ask`. */
export interface AskOptions {
  /** `atlas-2` by default; `swift-1` is cheaper. */
  readonly model?: "atlas-2" | "swift-1";
  /** How many times longer than usual this model takes to answer. */
  readonly slowness?: number;
}

const script: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /outline/i,
    ["the keeper, the storm, the letter", "the island, the stranger, the map", "a clock, a thief, a tide"],
  ],
  [
    /chapter/i,
    ["The lamp had burned for forty years.", "Nobody rowed out in November.", "The tide brought a bottle."],
  ],
  [/title/i, ["The Last Keeper", "A Map of the Tide", "Low Water"]],
  [/which tool/i, ["weather: Lisbon", "weather: Lisbon", "weather: Lisbon"]],
  [/answer/i, ["Take a raincoat: 14 degrees and showers.", "Showers all day, so plan for museums."]],
  [
    /reply/i,
    [
      "We are sorry. You get your money back today.",
      "Thank you for your patience. The refund is on its way.",
    ],
  ],
  [/law/i, ["fine, if the notice period is two weeks", "clause 4 contradicts clause 9"]],
  [/cost/i, ["12,400 a year, as planned", "13,100 a year: 700 above the plan"]],
  [/tone/i, ["clear and friendly", "too formal in the second part"]],
  [/summar/i, ["Sign it, after clause 4 is changed.", "Sign it as it is."]],
];

/** Sends what is outside to the page, and waits for the time that an answer takes. */
export interface Outside {
  readonly pace: Pace;
  readonly takes: Map<string, number>;
  /** The run that is driven. */
  run(): string;
  called(call: OutsideCall): void;
  /** It was answered, or its answer is no longer needed. */
  replied(number: number, isDropped: boolean): void;
  /** Resolves when the page lets this call be answered. */
  allowed(number: number): Promise<void>;
}

const usual: Readonly<Record<Exclude<Pace, "by hand">, number>> = { slow: 1_100, fast: 180 };

/** What a program imports from "playground". */
export interface Playground {
  /** Asks the scripted model. The call is counted and priced. */
  ask(prompt: string, info: StepInfo, options?: AskOptions): Promise<string>;
  /** Calls a service, such as a booking system. The call is counted. */
  call(service: string, info: StepInfo): Promise<string>;
}

export function createPlayground(outside: Outside): Playground {
  let number = 0;
  const through = async (
    call: Omit<OutsideCall, "number" | "run">,
    info: StepInfo,
    slowness = 1,
  ): Promise<void> => {
    const mine = (number += 1);
    outside.called({ ...call, number: mine, run: outside.run() });
    const { pace } = outside;
    const answered = pace === "by hand" ? outside.allowed(mine) : after(usual[pace] * slowness);
    try {
      await Promise.race([answered, aborted(info.signal)]);
    } finally {
      outside.replied(mine, info.signal.aborted);
    }
  };
  return {
    async ask(prompt, info, { model = "atlas-2", slowness = 1 } = {}) {
      const take = outside.takes.get(prompt) ?? 0;
      outside.takes.set(prompt, take + 1);
      const text = answerTo(prompt, take);
      const usage = { model, inputTokens: 300 + prompt.length, outputTokens: 80 + text.length * 4 };
      const price = prices[model] ?? { input: 0, output: 0 };
      const cost = (usage.inputTokens * price.input + usage.outputTokens * price.output) / 1e6;
      await through({ key: info.key, what: "model", name: model, prompt, cost }, info, slowness);
      info.meter(usage);
      return text;
    },
    async call(service, info) {
      await through({ key: info.key, what: "service", name: service, prompt: service, cost: 0 }, info);
      return `${service.split(" ").at(-1) ?? "done"}-${info.idempotencyKey.slice(0, 4)}`;
    },
  };
}

function answerTo(prompt: string, take: number): string {
  const texts = script.find(([pattern]) => pattern.test(prompt))?.[1] ?? [
    "Yes.",
    "It depends.",
    "Better not.",
  ];
  return texts[take % texts.length] ?? "";
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Rejects when the work is no longer needed, for example after a race is lost. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
