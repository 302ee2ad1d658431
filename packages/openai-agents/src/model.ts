/**
 * A model of the OpenAI Agents SDK whose calls are recorded.
 *
 * M1. A call is named by what it asks, so that agents at the same time find their own records, in any order.
 * M2. The runner gets words as they come. The end of an answer, with the calls of tools in it, is held back until it is durable.
 * M3. A call in the work of a step is part of that work: it is metered there, and not recorded.
 *
 * Proven in test/model.test.ts and test/kills.test.ts.
 */

import {
  currentContext,
  currentStep,
  DurableError,
  type Context,
  type StepInfo,
  type Usage as Used,
} from "@durable/core";
import {
  askedByContent,
  liveStream,
  placed,
  plain,
  tokensIn,
  usageOfCounts,
  variantOf,
} from "@durable/core/clients";
import { fingerprint, permitIn } from "@durable/core/storage";
import {
  Usage,
  type Model,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
} from "@openai/agents";
import { checkedOptions, limit, type ModelOptions } from "./options.ts";

/**
 * The same model, recorded: each call is a step of the run, or a stream. Without a context a call belongs to the run in which it is
 * made; in the work of a step, and outside of runs, it is not recorded.
 * @example const agent = new Agent({ name: "Ada", model: durableModel(new OpenAIResponsesModel(client, "gpt-6-luna")) });
 */
export function durableModel(ctx: Context, model: Model, options?: ModelOptions): Model;
export function durableModel(model: Model, options?: ModelOptions): Model;
export function durableModel(...args: readonly unknown[]): Model {
  const { ctx, rest } = placed(args);
  const [model, options = {}] = rest as readonly [Model, ModelOptions?];
  return new DurableModel(model, checkedOptions(options, "durableModel"), ctx);
}

/**
 * The same provider, whose models are recorded, for agents that name their models.
 * @example const runner = new Runner({ modelProvider: durableProvider(new OpenAIProvider({ openAIClient: client })) });
 */
export function durableProvider(ctx: Context, provider: ModelProvider, options?: ModelOptions): ModelProvider;
export function durableProvider(provider: ModelProvider, options?: ModelOptions): ModelProvider;
export function durableProvider(...args: readonly unknown[]): ModelProvider {
  const { ctx, rest } = placed(args);
  const [provider, options = {}] = rest as readonly [ModelProvider, ModelOptions?];
  const checked = checkedOptions(options, "durableProvider");
  const getModel = async (name?: string): Promise<Model> =>
    new DurableModel(await provider.getModel(name), { name, ...checked }, ctx);
  return { getModel };
}

/** What the end of an answer has, streamed or not. */
interface Answer {
  readonly usage: Readonly<
    Partial<Record<"inputTokens" | "outputTokens" | "inputTokensDetails" | "outputTokensDetails", unknown>>
  >;
}

/** An event or an answer of the provider, with the fields that are read. */
type Raw = Readonly<Partial<Record<"type" | "model" | "response", unknown>>> | null | undefined;

type UsageInput = ConstructorParameters<typeof Usage>[0] & object;

/** Fields of a request that do not belong to the question. */
const beside: ReadonlySet<string> = new Set(["signal", "tracing"]);

class DurableModel implements Model {
  readonly #model: Model;
  readonly #options: ModelOptions;
  readonly #ctx: Context | undefined;

  constructor(model: Model, options: ModelOptions, ctx: Context | undefined) {
    this.#model = model;
    this.#options = options;
    this.#ctx = ctx;
  }

  get supportsPromptModelSelection(): boolean {
    return this.#model.supportsPromptModelSelection ?? false;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const ctx = this.#ctx ?? currentContext();
    if (ctx === undefined) return this.#inStep(request);
    const { name, options } = this.#call(ctx, "generate", request);
    const { model, asked } = this.#varied(ctx, request);
    const work = async (info: StepInfo): Promise<unknown> => {
      const response = await model.getResponse(signalled(asked, info));
      this.#meter(info, response, modelOf(response.providerData));
      return plain(response);
    };
    try {
      return asResponse((await ctx.step(name, work as () => unknown, options)) as ModelResponse);
    } catch (error) {
      // The runner gets the error of the provider, without the step and the run.
      throw DurableError.is(error, "step-failed") ? error.cause : error;
    }
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const ctx = this.#ctx ?? currentContext();
    if (ctx === undefined) return yield* this.#streamInStep(request);
    const { name, options } = this.#call(ctx, "stream", request);
    const { model, asked } = this.#varied(ctx, request);
    const metering = (info: StepInfo) => this.#metering(info);
    const events = liveStream<StreamEvent>(
      ctx,
      name,
      async function* (info): AsyncGenerator<StreamEvent> {
        const meter = metering(info);
        let isDone = false;
        for await (const event of model.getStreamedResponse(signalled(asked, info))) {
          meter(event);
          isDone ||= isEnd(event);
          yield plain(event) as StreamEvent;
        }
        // As much as a cut connection.
        if (!isDone) throw new Error("The stream of the model ended before its response was done.");
      },
      { ...options, isWord, isEnd },
    );
    yield* events;
  }

  /** What an eval or a fork asks, and which model; the name of the call stays that of the code's own question. */
  #varied(ctx: Context, request: ModelRequest): { readonly model: Model; readonly asked: ModelRequest } {
    const { model = this.#model, prompt } = variantOf(ctx) ?? {};
    if (prompt === undefined) return { model: model as Model, asked: request };
    const { systemInstructions = "" } = request;
    const { label } = this.#options;
    const changed = typeof prompt === "string" ? prompt : prompt(systemInstructions, { label });
    const asked = changed === systemInstructions ? request : { ...request, systemInstructions: changed };
    return { model: model as Model, asked };
  }

  /** The name of a call, and the options of its step. */
  #call(ctx: Context, kind: "generate" | "stream", request: ModelRequest) {
    const { retry, label = kind, quota, name: model, onChange = "block" } = this.#options;
    limit(ctx, this.#options);
    const asked = questionOf(request);
    const what = `agent ${kind}`;
    const name = `${what} ${fingerprint([1, model ?? null, asked], "question of an agent")}`;
    const estimate = (): Used => this.#estimate(request);
    const byContent = askedByContent(ctx, { what, name, sort: "model call", onChange, by: "durableModel" });
    return { name, options: { retry, label, quota, estimate, byContent, model: true as const } };
  }

  #estimate(request: ModelRequest): Used {
    const { maxTokens } = request.modelSettings;
    const input = tokensIn(questionOf(request));
    return usageOfCounts(this.#options.name, { input, output: maxTokens });
  }

  #meter(info: StepInfo, { usage }: Answer, model: string | undefined): Used {
    const used = usedBy(usage, model ?? this.#options.name);
    info.meter(used);
    return used;
  }

  /** Meters the end of a stream. The events before it say which model answers. */
  #metering(info: StepInfo): (event: StreamEvent) => Used | undefined {
    let model: string | undefined;
    return (event) => {
      if (event.type === "model") model ??= modelOf(event.event) ?? modelOf((event.event as Raw)?.response);
      if (event.type !== "response_done") return undefined;
      return this.#meter(info, event.response, modelOf(event.response.providerData) ?? model);
    };
  }

  async #inStep(request: ModelRequest): Promise<ModelResponse> {
    const info = currentStep();
    if (info === undefined) return this.#model.getResponse(request);
    const permit = await permitIn(info, this.#options.quota, () => this.#estimate(request));
    let used: Used | undefined;
    try {
      const response = await this.#model.getResponse(request);
      used = this.#meter(info, response, modelOf(response.providerData));
      return response;
    } finally {
      // A permit that cannot be settled ends by its time.
      void permit?.settle(used === undefined ? undefined : [used]).catch(() => {});
    }
  }

  async *#streamInStep(request: ModelRequest): AsyncGenerator<StreamEvent> {
    const info = currentStep();
    if (info === undefined) return yield* this.#model.getStreamedResponse(request);
    const permit = await permitIn(info, this.#options.quota, () => this.#estimate(request));
    const meter = this.#metering(info);
    let used: Used | undefined;
    try {
      for await (const event of this.#model.getStreamedResponse(request)) {
        used = meter(event) ?? used;
        yield event;
      }
    } finally {
      void permit?.settle(used === undefined ? undefined : [used]).catch(() => {});
    }
  }
}

function questionOf(request: ModelRequest): unknown {
  return plain(Object.fromEntries(Object.entries(request).filter(([name]) => !beside.has(name))));
}

/** Stops with the runner, and with the run. */
function signalled(request: ModelRequest, { signal }: StepInfo): ModelRequest {
  const own = request.signal;
  return { ...request, signal: own === undefined ? signal : AbortSignal.any([signal, own]) };
}

function asResponse(recorded: ModelResponse): ModelResponse {
  return { ...recorded, usage: new Usage(recorded.usage as UsageInput) };
}

/** Words that people see. Other events of an answer may still be those of a failed attempt. */
function isWord(event: StreamEvent): boolean {
  if (event.type === "output_text_delta") return event.delta !== "";
  const raw = (event.type === "model" ? event.event : undefined) as Raw;
  return typeof raw?.type === "string" && raw.type.endsWith("delta");
}

const ended: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete", "response.failed"]);

function isEnd(event: StreamEvent): boolean {
  if (event.type !== "model") return event.type === "response_done";
  return ended.has((event.event as Raw)?.type);
}

/** The model that answered, where the provider says it. */
function modelOf(answer: unknown): string | undefined {
  const model = (answer as Raw)?.model;
  return typeof model === "string" ? model : undefined;
}

type Details = Readonly<Record<string, unknown>>;

function usedBy(usage: Answer["usage"], model: string | undefined): Used {
  const [input, output] = [usage.inputTokensDetails, usage.outputTokensDetails].map(detailsOf);
  return usageOfCounts(model, {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached: input?.["cached_tokens"],
    written: input?.["cache_write_tokens"],
    reasoning: output?.["reasoning_tokens"],
  });
}

/** One object for each request that the call made, or an object. */
function detailsOf(details: unknown): Details {
  return ((Array.isArray(details) ? details[0] : details) ?? {}) as Details;
}
