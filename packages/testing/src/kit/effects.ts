/**
 * Effects on the outside: fake services record them here, and crash tests compare histories.
 *
 * E1. One payload under more keys than in the calm run: the service could not recognize the repetition.
 * E2. One key with two payloads: randomness or a clock reached the outside without being journaled.
 * E3. Every effect without a key is a new effect.
 *
 * Proven in test/kit-caught.test.ts and test/kit-report.test.ts.
 */

import { inspect } from "node:util";
import { place } from "./ambient.ts";
import { calledAt } from "./call-site.ts";

/** One effect on the outside world. */
export interface Effect {
  /** What was done: `send`, `charge`. */
  readonly name: string;
  /** The idempotency key that the service got; `null` if it got none. */
  readonly key: string | null;
  readonly payload: unknown;
}

/** Notes the effects of fake services. */
export interface Recorder {
  /**
   * Notes an effect. True when the same key has not done the same before; a service with idempotency acts
   * only then.
   */
  record(
    name: string,
    effect?: { readonly key?: string | null | undefined; readonly payload?: unknown },
  ): boolean;
  /** All effects since the last reset. */
  readonly effects: readonly Effect[];
  reset(): void;
}

/** Creates a recorder. Pass it to `crashEverywhere` as `effects`. */
export function recorder(): Recorder {
  const effects: Effect[] = [];
  const record: Recorder["record"] = (name, { key = null, payload } = {}) => {
    place.getStore()?.unrecorded?.("effect", name, calledAt(name, record));
    const first = key === null || !effects.some((effect) => effect.name === name && effect.key === key);
    effects.push({ name, key, payload });
    return first;
  };
  return {
    effects,
    record,
    reset: () => void effects.splice(0),
  };
}

/** An effect that differs after a crash. */
export interface EffectFinding {
  readonly kind: "other-key" | "no-key" | "other-payload";
  readonly name: string;
  /** The finding, in words. */
  readonly text: string;
}

interface Sorted {
  /** Distinct keys of each payload, by name and payload. */
  readonly keys: Map<string, Set<string>>;
  /** Distinct payloads of each key, by name and key. */
  readonly payloads: Map<string, Set<string>>;
}

/** The effects that a service cannot recognize as repetitions, compared with those of the calm run. */
export function compareEffects(calm: readonly Effect[], effects: readonly Effect[]): EffectFinding[] {
  const before = sort(calm);
  const after = sort(effects);
  const findings: EffectFinding[] = [];
  for (const [id, keys] of after.keys) {
    const known = before.keys.get(id)?.size ?? 0;
    if (known === 0 || keys.size <= known) continue;
    const [name = "", payload = ""] = split(id);
    const none = [...keys].every((key) => key.startsWith(unkeyed));
    findings.push(
      none
        ? { kind: "no-key", name, text: `${payload}, ${keys.size} times, with no key` }
        : { kind: "other-key", name, text: `${payload} under ${[...keys].map(shown).join(" and ")}` },
    );
  }
  for (const [id, payloads] of after.payloads) {
    if (payloads.size <= (before.payloads.get(id)?.size ?? 1)) continue;
    const [name = "", key = ""] = split(id);
    findings.push({ kind: "other-payload", name, text: `${[...payloads].join(" and ")} under ${key}` });
  }
  return [...findings, ...more(before, after, findings)];
}

/** When payload and key are both new each time, only the number of keys shows the repetition. */
function more(before: Sorted, after: Sorted, found: readonly EffectFinding[]): EffectFinding[] {
  const names = new Set([...after.keys.keys()].map((id) => split(id)[0] ?? ""));
  return [...names].flatMap((name): EffectFinding[] => {
    const [known, now] = [keysOf(before, name), keysOf(after, name)];
    if (found.some((finding) => finding.name === name) || now.size <= known.size || known.size === 0)
      return [];
    const keys = [...now].map(shown).join(", ");
    return [{ kind: "other-key", name, text: `${now.size} keys where calm had ${known.size}: ${keys}` }];
  });
}

function keysOf({ keys }: Sorted, name: string): Set<string> {
  return new Set([...keys].flatMap(([id, list]) => (split(id)[0] === name ? [...list] : [])));
}

const unkeyed = "no key, call ";

function sort(effects: readonly Effect[]): Sorted {
  const sorted: Sorted = { keys: new Map(), payloads: new Map() };
  effects.forEach(({ name, key, payload }, index) => {
    const text = shownPayload(payload);
    add(sorted.keys, join(name, text), key ?? `${unkeyed}${index + 1}`);
    if (key !== null) add(sorted.payloads, join(name, key), text);
  });
  return sorted;
}

function add(map: Map<string, Set<string>>, id: string, member: string): void {
  map.set(id, (map.get(id) ?? new Set()).add(member));
}

function shownPayload(payload: unknown): string {
  return inspect(payload, { depth: 8, sorted: true, breakLength: Number.POSITIVE_INFINITY });
}

function shown(key: string): string {
  return key.startsWith(unkeyed) ? "no key" : key;
}

const join = (...parts: readonly string[]): string => JSON.stringify(parts);
const split = (id: string): readonly string[] => JSON.parse(id) as readonly string[];
