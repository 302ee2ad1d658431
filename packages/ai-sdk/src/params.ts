/** What the SDK passes to a model, as far as this package needs to know it. */

/** The part of a model that this package needs to know. */
export interface ModelId {
  readonly provider?: unknown;
  readonly modelId?: unknown;
}

/** The parameters of a call, which differ by kind of model and version of the SDK. */
export type Params = Readonly<Record<string, unknown>>;
