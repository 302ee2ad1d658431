import type { RunJournal } from "../journal/journal.ts";
import { turnIn } from "../journal/kinds.ts";
import { flowPart } from "./flow-part.ts";
import type { Host } from "./host.ts";

/** A run that is gone before it began gives the turn of its rate back. */
export async function leaveLine(host: Host, { entries }: RunJournal): Promise<void> {
  const turn = turnIn(entries);
  if (turn !== undefined) await (await flowPart()).giveTurnBack(host, turn);
}
