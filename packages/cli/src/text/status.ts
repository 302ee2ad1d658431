/** How the status of a run is shown: the same glyph, word and colour everywhere. */

import type { RunStatus } from "@durable/core";
import { styled, type Style, type Terminal } from "../terminal.ts";

const looks: Record<RunStatus | "sleeping", readonly [string, string, Style]> = {
  completed: ["✓", "+", "green"],
  failed: ["✗", "x", "red"],
  blocked: ["■", "!", "red"],
  cancelled: ["⊘", "-", "dim"],
  running: ["◐", "*", "blue"],
  suspended: ["⏸", "||", "yellow"],
  paused: ["⏹", "[]", "yellow"],
  sleeping: ["⏾", "zz", "magenta"],
};

export function statusText(term: Terminal, status: RunStatus | "sleeping", text: string = status): string {
  const [fancy, ascii, style] = looks[status];
  return styled(style, `${term.glyph(fancy, ascii)} ${text}`);
}
