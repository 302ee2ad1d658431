/** What a context offers for messages and reports. */

import { encode } from "../values/codec/encode.ts";
import { DurableError } from "../values/errors.ts";
import { limits } from "../values/limits.ts";
import type { CallEngine } from "./calls/call.ts";
import { suspend, type ReceiveOptions } from "./calls/suspend.ts";
import type { MessageSchemas } from "./definition.ts";
import type { Scope } from "./scope.ts";

export interface Mail {
  receive(topic: string, options?: ReceiveOptions): Promise<unknown>;
  messages(topic: string, options?: ReceiveOptions): AsyncIterable<unknown>;
  report(value: unknown): void;
}

export function mailOf(engine: CallEngine, scope: Scope, schemas: MessageSchemas = {}): Mail {
  const receive = (topic: string, options: ReceiveOptions = {}): Promise<unknown> => {
    const schema = options.schema ?? (Object.hasOwn(schemas, topic) ? schemas[topic] : undefined);
    return suspend(engine, { scope, name: topic, receives: true }, { ...options, schema });
  };
  return {
    receive,
    messages: async function* (topic, options) {
      for (;;) {
        let message: unknown;
        try {
          message = await receive(topic, options);
        } catch (error) {
          if (!DurableError.is(error, "suspend-expired")) throw error;
          return;
        }
        yield message;
      }
    },
    /** The value goes with the next entry of the run. A report that is recorded is not written again. */
    report: (value) => {
      const json = encode(value, `report of run ${engine.journal.runId}`, limits.reportBytes);
      // No step has this name, so that a report can be added to a run that is under way.
      const entered = engine.enter({ scope, name: "ctx.report", kind: "report", input: null });
      if (entered === null || entered.record !== undefined) return;
      const { key, after } = entered;
      engine.writeWithNext({ kind: "report.set", key, after, value: json });
    },
  };
}
