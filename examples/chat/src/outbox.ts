/** E-mails that were sent: files in a folder, in place of a mail server. */

import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly body: string;
}

export interface Outbox {
  send(idempotencyKey: string, mail: Mail): void;
}

/** `log`, for tests: a file that gets a line for every call, repeated ones included. */
export function folderOutbox(folder: string, log?: string): Outbox {
  return {
    send(idempotencyKey, { to, subject, body }) {
      if (log !== undefined) appendFileSync(log, `sent ${idempotencyKey}\n`);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      // The key names the file. If a crash makes the step run again, the same file is written again.
      const name = createHash("sha256").update(idempotencyKey).digest("hex").slice(0, 16);
      writeFileSync(join(folder, `${name}.txt`), `To: ${to}\nSubject: ${subject}\n\n${body}\n`, {
        mode: 0o600,
      });
    },
  };
}
