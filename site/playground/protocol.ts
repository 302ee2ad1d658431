/** What the page and its worker say to each other. Both sides know only data: no code of a program reaches the page. */

/** Objects of a bucket, by key. */
export type Objects = readonly (readonly [key: string, text: string])[];

/** How fast the scripted model and the services answer. */
export type Pace = "slow" | "fast" | "by hand";

/** What a worker is started with. Without code it only reads. */
export interface Boot {
  readonly bucket: string;
  readonly code: string | null;
  readonly pace: Pace;
  /** How often each prompt was sent before: another try gets another answer. */
  readonly takes: Readonly<Record<string, number>>;
}

/** One call that left the program: of the model, or of a service. */
export interface OutsideCall {
  readonly number: number;
  readonly run: string;
  readonly key: string;
  readonly what: "model" | "service";
  readonly name: string;
  readonly prompt: string;
  readonly cost: number;
}

/** A page's order to its worker. */
export type Order =
  | { readonly do: "boot"; readonly boot: Boot }
  | { readonly do: "look"; readonly runs: readonly string[] }
  | { readonly do: "run"; readonly id: string }
  | { readonly do: "continue"; readonly id: string }
  | { readonly do: "answer"; readonly id: string; readonly key: string; readonly json: string }
  | {
      readonly do: "fork";
      readonly id: string;
      readonly as: string;
      readonly from: string;
      readonly json: string | null;
    }
  | { readonly do: "reply"; readonly number: number }
  | { readonly do: "dump" }
  | { readonly do: "fill"; readonly objects: Objects };

/** One entry of a journal, as text. */
export interface EntryPicture {
  readonly seq: number;
  readonly kind: string;
  readonly key: string | null;
  readonly text: string;
  /** A fork has it from its parent. */
  readonly inherited: boolean;
  readonly edited: boolean;
  readonly cost: number | null;
  /** The recorded output as JSON, where a fork can replace it. */
  readonly json: string | null;
}

export interface WaitPicture {
  readonly key: string;
  readonly note: string;
}

/** A run, as the page shows it. */
export interface RunPicture {
  readonly id: string;
  readonly parent: string | null;
  readonly state: string;
  /** Output, error, or why the run is blocked. */
  readonly end: string | null;
  readonly entries: readonly EntryPicture[];
  readonly waits: readonly WaitPicture[];
  /** Settled steps in order: true for those that came from the parent. */
  readonly steps: readonly { readonly key: string; readonly inherited: boolean }[];
  readonly cost: number;
  readonly reusedCost: number;
}

/** What a worker reports. */
export type Report =
  | { readonly is: "run"; readonly run: RunPicture }
  | { readonly is: "call"; readonly call: OutsideCall }
  | { readonly is: "replied"; readonly number: number; readonly isDropped: boolean }
  | { readonly is: "attempt"; readonly key: string; readonly attempt: number }
  | { readonly is: "attempt-end"; readonly key: string }
  | { readonly is: "replayed"; readonly key: string }
  | { readonly is: "waiting"; readonly text: string }
  | { readonly is: "done" }
  | { readonly is: "failed"; readonly message: string }
  | { readonly is: "objects"; readonly objects: Objects };
