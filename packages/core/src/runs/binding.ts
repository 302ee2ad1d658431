/**
 * The app that the verbs of a workflow act on. An app is known here by its host.
 *
 * binding.1. A workflow and what `with()` makes of it share one binding, unless `with()` gets an option of a host.
 * binding.2. Bound to one app, the verbs act on its host; bound to none, on the default host; bound to several, they throw.
 * binding.3. A workflow that was given an option of a host has a host of its own, and no app binds it.
 * binding.4. No app binds a workflow that was used on the default host, if storage or encryption differ: its runs would
 *     be in two places.
 */

import type { Definition } from "../engine/definition.ts";
import { DurableError } from "../values/errors.ts";
import { defined } from "../values/options.ts";
import { hostOptions, type Host, type HostOptions } from "./host.ts";

export class Binding {
  readonly #name: string;
  /** The options of its own host; `null` for a workflow without one. */
  readonly own: HostOptions | null;
  readonly #hosts = new Set<Host>();
  #usedDefault = false;
  /** An app has this workflow, or had it, so that the default host may be a mistake. */
  #expectsApp = false;

  constructor(name: string, options: HostOptions) {
    this.#name = name;
    this.own = hostOptions.split(" ").some((option) => option in defined(options)) ? options : null;
  }

  /** The host to act on now; `otherwise` makes its own one, or the default one. */
  host(otherwise: () => Host): Host {
    if (this.#hosts.size > 1) throw ambiguous(this.#name, this.#hosts.size);
    for (const host of this.#hosts) return host;
    const host = otherwise();
    if (this.own === null) {
      this.#usedDefault = true;
      if (this.#expectsApp) host.world.warn(unexpectedDefault(this.#name));
      this.#expectsApp = false;
    }
    return host;
  }

  /** Throws if an app with this host cannot bind the workflow. */
  assertFree({ options: { storage, encryption } }: Host): void {
    if (this.own !== null) throw isPrivate(this.#name, this.own);
    if (this.#usedDefault && (storage ?? encryption) !== undefined) throw tooLate(this.#name);
  }

  bind(host: Host): void {
    this.#hosts.add(host);
  }

  unbind(host: Host): void {
    if (this.#hosts.delete(host)) this.expectApp();
  }

  /** From now on, a use of the default host is reported, once. */
  expectApp(): void {
    this.#expectsApp = true;
  }
}

/** The binding of a workflow; `undefined` for a definition that `durable()` has not made. */
export function bindingOf(definition: Definition | null): Binding | undefined {
  return definition?.binding as Binding | undefined;
}

/** Children and spawned runs are part of the app of their parent, so options of their own must not be lost in silence. */
export function assertSameApp({ options }: Host, definition: Definition, kind: string): void {
  const own = bindingOf(definition)?.own ?? {};
  for (const name of ["storage", "encryption"] as const) {
    if (own[name] === undefined || own[name] === options[name]) continue;
    throw new DurableError(
      "invalid-options",
      `ctx.${kind} got workflow "${definition.name}", which has another ${name} than its parent. A run and those below it share one app: remove \`${name}\` from the options of "${definition.name}".`,
    );
  }
}

function ambiguous(name: string, apps: number): DurableError {
  return new DurableError(
    "ambiguous-app",
    `Workflow "${name}" is bound to ${apps} apps, so its own verbs cannot choose one. Use app.run(flow, input), app.start(flow, input) or app.fork(flow, runId, options); or create all apps but one with bind: false; or end one with app.close().`,
  );
}

function isPrivate(name: string, own: HostOptions): DurableError {
  const given = Object.keys(defined(own)).filter((option) => hostOptions.split(" ").includes(option));
  return new DurableError(
    "invalid-options",
    `createApp got workflow "${name}", which has ${given.join(", ")} of its own, so its runs would be in another app. Give these options to createApp, or pass bind: false.`,
  );
}

function tooLate(name: string): DurableError {
  return new DurableError(
    "invalid-options",
    `createApp got workflow "${name}", which was used on the default app before, with another storage or encryption. Create the app before the first run, or pass bind: false.`,
  );
}

function unexpectedDefault(name: string): string {
  return `workflow "${name}" is used on the default app, although an app of this process has it; use app.start(flow, input) to start its runs there`;
}
