import type { RunJournal } from "../journal/journal.ts";
import { turnIn } from "../journal/kinds.ts";
import type { Host } from "./host.ts";
import { giveTurnBack } from "./rate.ts";

/** A run that is gone before it began gives the turn of its rate back. */
export async function leaveLine(host: Host, { entries }: RunJournal): Promise<void> {
  const turn = turnIn(entries);
  if (turn !== undefined) await giveTurnBack(host, turn);
}
