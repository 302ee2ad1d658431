/**
 * Where in the user's code a call came from, by the stack of an error made there. Proven in
 * test/kit-parts.test.ts.
 */

import { relative } from "node:path";
import { fileURLToPath } from "node:url";

const ours = /[/\\](?:@durable|packages)[/\\]core[/\\](?:src|dist)[/\\]/;
/** Only wraps calls of others. */
const kit = /[/\\](?:@durable|packages)[/\\]testing[/\\](?:src|dist)[/\\]/;

export interface Frame {
  readonly file: string;
  readonly line: string;
}

/**
 * An error whose stack begins with the caller of `wrapper`. The kit's own frames are cut by function and not by file,
 * because source maps give them other names.
 */
export function calledAt(message: string, wrapper: (...args: never[]) => unknown): Error {
  const error = new Error(message);
  const { stackTraceLimit } = Error;
  // The call of a workflow may be below many frames of an SDK.
  Error.stackTraceLimit = 50;
  Error.captureStackTrace(error, wrapper);
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

export function framesOf({ stack = "" }: Error): Frame[] {
  return stack.split("\n").flatMap((text) => {
    const [, name = "", line = ""] = /^\s+at (?:async )?(?:.*\()?(.+?):(\d+):\d+\)?$/.exec(text) ?? [];
    if (line === "") return [];
    const file = name.startsWith("file:") ? fileURLToPath(name) : name.replace(/\?.*$/, "");
    // `getRandomValues` of the module only calls that of the global.
    return file === "node:crypto" || kit.test(file) ? [] : [{ file, line }];
  });
}

/** `src/refund.ts:12`; `null` when the library or the platform made the call. */
export function callSite(error: Error): string | null {
  const frames = framesOf(error);
  const [first] = frames;
  if (first === undefined) return "an unknown location";
  if (first.file.startsWith("node:") || ours.test(first.file)) return null;
  const own = frames.find(({ file }) => !/^node:|[/\\]node_modules[/\\]/.test(file) && !ours.test(file));
  const { file, line } = own ?? first;
  const through = own === undefined || own === first ? "" : ` (through ${packageOf(first.file)})`;
  return `${shorter(file)}:${line}${through}`;
}

/** The line of the workflow that led to a call, also through fakes and packages. */
export function workflowSite(error: Error): string {
  const frames = framesOf(error);
  const engine = frames.findIndex(({ file }) => ours.test(file));
  const own = frames
    .slice(0, engine === -1 ? frames.length : engine)
    .findLast(({ file }) => !/^node:|[/\\]node_modules[/\\]/.test(file));
  return own === undefined ? "an unknown location" : `${shorter(own.file)}:${own.line}`;
}

export function packageOf(file: string): string {
  return /.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(file)?.[1] ?? shorter(file);
}

function shorter(file: string): string {
  const short = relative(process.cwd(), file);
  return short.startsWith("..") ? file : short;
}
