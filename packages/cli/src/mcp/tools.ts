/** The tools of `durable mcp`: what a coding agent can read, and what it can do where it is allowed to. */

import type { Session } from "../session.ts";
import type { Tool } from "./protocol.ts";
import { readers } from "./readers.ts";
import { writers, type Allowable } from "./writers.ts";

export function toolsOf(session: Session, allowed: ReadonlySet<Allowable>, now: () => number): Tool[] {
  return [...readers(session, now), ...writers(session, allowed)];
}
