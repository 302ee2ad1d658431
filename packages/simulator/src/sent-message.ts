/** What the simulator knows of a message that was sent. Proven in test/sim.test.ts. */

import type { RunLog } from "./run-log.ts";

/** An attempt to send a message. */
export interface SentMessage {
  readonly run: RunLog;
  readonly topic: string;
  readonly id: string;
  readonly value: unknown;
  status: string | null;
}
