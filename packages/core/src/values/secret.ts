/** A value that journals record only by its name. Every process that needs the value must register it. */

import { DurableError } from "./errors.ts";
import { labelOf, register, scrub, unnamed, valueOf } from "./scrub.ts";

const shortest = 8;
const inspect: unique symbol = Symbol.for("nodejs.util.inspect.custom");

/** A secret. It prints and is recorded as `[secret NAME]`; only `reveal` gives the value. */
export class SecretValue {
  /** The name that stands for it. */
  readonly name: string;
  readonly #value: string | null;

  /** A secret that was read from a journal has only a name. */
  constructor(name: string, value: string | null = null) {
    this.name = name;
    this.#value = value;
  }

  /** The value. Throws `no-key` if this process has not called `secret` with this name. */
  reveal(): string {
    const value = this.#value ?? valueOf(this.name);
    if (typeof value === "string") return value;
    throw new DurableError(
      "no-key",
      value === null
        ? `Several secrets have no name. Call secret(value, "NAME") for each.`
        : `The secret "${this.name}" is not known in this process. Call secret(value, "${this.name}") before the run.`,
      { details: { secret: this.name } },
    );
  }

  toString(): string {
    return labelOf(this.name);
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect](): string {
    return this.toString();
  }
}

/**
 * Marks a text as secret: from now on it is removed from everything that is recorded or printed by this
 * library. The name stands for it in journals; use the same name in every process, and one name per secret.
 */
export function secret(value: string, name: string = unnamed): SecretValue {
  if (!isSecretName(name))
    throw refused('secret() got an invalid name. Use 1 to 64 letters, digits, "_", "." and "-".');
  if (typeof value !== "string")
    throw refused(
      `The secret "${scrub(name)}" is ${typeof value}, not a text. Check that the environment variable it comes from is set.`,
    );
  if (value.length < shortest)
    throw refused(
      `The secret "${scrub(name)}" is too short. Use at least ${shortest} characters: a shorter one may occur in other texts by chance.`,
    );
  if (name.includes(value) || scrub(name) !== name)
    throw refused("The name of a secret contains a secret. Names are recorded, so use another name.");
  register(value, name);
  return new SecretValue(name, value);
}

export function isSecretName(name: unknown): name is string {
  return typeof name === "string" && /^[\w.-]{1,64}$/.test(name);
}

function refused(why: string): DurableError {
  return new DurableError("invalid-options", why);
}

/** The end of a message that refuses a key. */
export const keyRecipe = "Make one with `openssl rand -base64 32`.";

/** True for a key that is too short, has too few different characters or bytes, or repeats its beginning to its end. */
export function isWeak(key: string | Uint8Array): boolean {
  const all = Array.from<unknown>(key);
  const repeats = (_: unknown, n: number): boolean =>
    n > 0 && 2 * n <= all.length && all.every((part, i) => i < n || part === all[i - n]);
  return all.length < 16 || new Set(all).size < 5 || all.some(repeats);
}
