/** What the parts of the screen for operators get from it. */

import type { ActionReply, Operations } from "../../src/api.ts";

export interface OperateProps {
  readonly data: Operations;
  /** Does something, says what came of it, and reads everything again. `null` where the page is read-only. */
  readonly act: ((work: () => Promise<ActionReply>) => void) | null;
}
