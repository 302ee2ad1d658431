/** What can be done with the run that is open, for Ctrl-K: the buttons of its head are the same. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface RunCommand {
  readonly id: string;
  readonly name: string;
  /** Why it is not possible now; `null` when it is. */
  readonly not: string | null;
  readonly act: () => void;
}

export const runCommands = signal<readonly RunCommand[]>([]);

/** Offers these while the view is there, with what the run allows now. */
export function useRunCommands(commands: readonly RunCommand[]): void {
  useEffect(() => void (runCommands.value = commands));
  useEffect(() => () => void (runCommands.value = []), []);
}
