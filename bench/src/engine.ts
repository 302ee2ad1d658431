/** The one interface between workloads and subjects. A subject is an engine on a storage, ours or a peer, or a floor. */

/** What a run does. */
export interface Work {
  /** The id of the run. */
  readonly id: string;
  readonly steps: number;
  /** All steps at once, in `Promise.all`; one after the other by default. */
  readonly parallel?: boolean;
  /** After its steps the run waits for an answer, and then does one more step. */
  readonly wait?: boolean;
}

/** What the code of a workflow reports to the workload. All subjects call these at the same places. */
export interface Marks {
  /** The function of the workflow was entered, on the first execution or on a replay. */
  begin(): void;
  /** All steps of the run have settled. */
  end(): void;
  /** The body of the step after the wait, or of a step that a fork runs again. */
  body(): void;
}

/** Where a subject keeps its data in this measurement. */
export interface Place {
  /** An empty folder, or one that an earlier process of the same measurement has used. */
  readonly folder: string;
  /** A database of its own on a Postgres server; empty when no subject needs it. */
  readonly postgres: string;
  /** A free port on loopback, the same for all processes of a measurement. */
  readonly port: number;
  /** The addresses of a server of the subject that runs already: for requests, and for its administration. */
  readonly server: readonly string[];
  /** True when a later process opens the same data. */
  readonly lasting: boolean;
  /** Simulated milliseconds per request to a bucket. */
  readonly bucketMs: number;
}

/** A subject that is open in this process. */
export interface Engine {
  /** Runs the work to its end. */
  run(work: Work): Promise<void>;
  /** Runs until the run waits for an answer, and returns what `answer` needs, as text. */
  wait?(work: Work): Promise<string>;
  /** Answers a run that waits. `marks.body` is called when its next step begins. */
  answer?(token: string): Promise<void>;
  /** Forks a run of so many steps at its last step. `marks.body` is called when that step runs again. */
  readonly fork?: (id: string, steps: number) => Promise<void>;
  close(): Promise<void>;
}

/** What the module of a subject exports. */
export interface SubjectModule {
  /** True when a process cannot have a second handle on the same data. */
  readonly single?: boolean;
  open(place: Place, marks: Marks): Promise<Engine>;
}

/** Promises that are resolved by a name, for engines that report the end of a run only by polling. */
export class Signals {
  readonly #waiting = new Map<string, () => void>();

  /** Resolves when `fire` is called with this name. */
  wait(name: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(name, resolve));
  }

  fire(name: string): void {
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
  }
}

/** Imports a peer, which need not be installed. The caller states the part of its interface that it uses. */
export async function load<Module>(name: string): Promise<Module> {
  return (await import(name)) as Module;
}
