/** How the state of a run is shown: the same glyph, word and colour everywhere. */

import type { RunStateName, RunStatus } from "@durable/core";
import { styled, type Style, type Terminal } from "../terminal.ts";

type Word = RunStatus | RunStateName;

const looks: Record<Word, readonly [string, string, Style]> = {
  completed: ["✓", "+", "green"],
  failed: ["✗", "x", "red"],
  blocked: ["■", "!", "red"],
  cancelled: ["⊘", "-", "dim"],
  running: ["◐", "*", "blue"],
  suspended: ["⏸", "||", "yellow"],
  paused: ["⏹", "[]", "yellow"],
  sleeping: ["⏾", "zz", "magenta"],
  waiting: ["⏸", "||", "yellow"],
  queued: ["◌", "..", "blue"],
  open: ["◌", "..", "dim"],
  cancelling: ["◐", "*", "dim"],
  failing: ["◐", "*", "red"],
};

export function statusText(term: Terminal, status: Word, text: string = status): string {
  const [fancy, ascii, style] = looks[status];
  return styled(style, `${term.glyph(fancy, ascii)} ${text}`);
}
