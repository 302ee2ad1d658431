/**
 * Messages to an agent while it works. They are sent to the run, and the agent gets them between two of its steps.
 *
 * G1. Each receive between two steps is recorded: on replay each step gets the messages that it got.
 * G2. A message is given to one step, once, in the order in which it was sent, and stays in the conversation after it.
 * G3. With the SDK's own steering, a message that comes before the last answer ends makes the agent go on.
 *
 * Proven in test/steering.test.ts.
 */

import { DurableError, type Context, type StandardSchema } from "@durable/core";
import type { SchemaResult } from "@durable/core/types";

/** A message of a user, as the SDK has it. */
export interface SteeringMessage {
  readonly role: "user";
  readonly content: string | readonly object[];
}

/** For `experimental_steering` of the AI SDK 7. */
export interface Steering {
  /** Rejects: a message that is not sent to the run would not be recorded. */
  steer(message: unknown, options?: object): Promise<never>;
  /** Rejects, like `steer`. */
  queue(message: unknown, options?: object): Promise<never>;
}

/** What a call of the AI SDK gets, so that messages to its run reach it. */
export interface DurableSteering {
  readonly experimental_steering: Steering;
  /** Receives the messages that came during the step. */
  readonly onStepEnd: () => Promise<void>;
  /** Does the same before each step, for versions that have no steering of their own. */
  readonly prepareStep: (step: {
    readonly messages: readonly unknown[];
  }) => Promise<{ messages: never[] } | undefined>;
}

/** The SDK starts steering by this method. */
const starter = Symbol.for("vercel.ai.steering.start");

/**
 * Messages that are sent to the run under a topic, `app.send(runId, topic, "Use Paris, Texas instead.")`, for one call of the
 * SDK: `streamText({ ...(await durableSteering(ctx, "steer")), ... })`. A message is a text, or a message of a user.
 */
export async function durableSteering(ctx: Context, topic: string): Promise<DurableSteering> {
  const inbox = new Inbox(ctx, topic);
  await inbox.receive();
  return {
    experimental_steering: inbox,
    onStepEnd: () => inbox.receive(),
    prepareStep: ({ messages }) => inbox.before(messages),
  };
}

interface Taken {
  readonly id: string;
  readonly message: SteeringMessage;
}

class Inbox implements Steering {
  readonly #ctx: Context;
  readonly #topic: string;
  #count = 0;
  /** Received, and not given to a step yet. */
  #pending: Taken[] = [];
  #taken: Taken[] = [];
  /** Given before by `prepareStep`, and how many messages of the SDK were before each. */
  readonly #given: { readonly at: number; readonly message: SteeringMessage }[] = [];
  #native = false;

  constructor(ctx: Context, topic: string) {
    this.#ctx = ctx;
    this.#topic = topic;
  }

  async receive(): Promise<void> {
    for (;;) {
      const options = { schema: messageSchema, timeout: 0, fallback: null };
      const message: SteeringMessage | null = await this.#ctx.receive(this.#topic, options);
      if (message === null) return;
      this.#count += 1;
      this.#pending.push({ id: `${this.#topic}-${this.#count}`, message });
    }
  }

  /** Versions without steering forget what was added before a step, so it is added again, at its place. */
  async before(messages: readonly unknown[]): Promise<{ messages: never[] } | undefined> {
    if (this.#native) return undefined;
    await this.receive();
    for (const { message } of this.#pending.splice(0)) this.#given.push({ at: messages.length, message });
    if (this.#given.length === 0) return undefined;
    const all: unknown[] = [...messages];
    for (const { at, message } of this.#given.toReversed()) all.splice(at, 0, message);
    return { messages: all as never[] };
  }

  steer(): Promise<never> {
    const { runId } = this.#ctx;
    const text = `A message to run ${runId} must be recorded. Send it with app.send("${runId}", "${this.#topic}", message).`;
    return Promise.reject(new DurableError("invalid-options", text));
  }

  queue(): Promise<never> {
    return this.steer();
  }

  /** What the SDK asks of a steering object. */
  [starter](): object {
    if (this.#native)
      throw new DurableError(
        "invalid-options",
        "durableSteering was used by another call of the SDK. Make one for each call.",
      );
    this.#native = true;
    return {
      hasPendingMessages: () => this.#pending.length > 0,
      promoteQueuedMessage: () => false,
      takeMessages: () => {
        this.#taken.push(...this.#pending.splice(0));
        return this.#taken.map(({ message }) => message);
      },
      resolveTakenMessages: () => this.#taken.splice(0),
      end: () => {},
    };
  }
}

const messageSchema: StandardSchema<string | SteeringMessage, SteeringMessage> = {
  "~standard": { version: 1, vendor: "durable", validate: messageFrom },
};

function messageFrom(value: unknown): SchemaResult<SteeringMessage> {
  if (typeof value === "string" && value !== "") return { value: { role: "user", content: value } };
  const { role, content } = (value ?? {}) as Partial<Record<keyof SteeringMessage, unknown>>;
  if (role === "user" && (typeof content === "string" || Array.isArray(content)))
    return { value: value as SteeringMessage };
  return { issues: [{ message: 'expected a text, or { role: "user", content }' }] };
}
