/** What the right side shows while no call is chosen: the run's input, and how it ended. */

import type { JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { chatOf } from "../lib/chat.ts";
import { fullTime } from "../lib/format.ts";
import { wordDiff } from "../lib/words.ts";
import { RunLink } from "./basic.tsx";
import { Chat } from "./chat.tsx";
import { Words } from "./prompt.tsx";
import { Value } from "./value.tsx";

export function RunPanel({ run }: { run: RunPage }): JSX.Element {
  const messages = chatOf(run.input);
  return (
    <section class="panel" aria-label="The run">
      <div class="pane">
        {"output" in run && (
          <>
            <h2>Output</h2>
            <Value value={run.output ?? null} label="the output" />
          </>
        )}
        {run.status === "cancelled" && typeof run.error === "object" && run.error !== null && (
          <>
            <h2>Reason</h2>
            <Value value={run.error} label="the reason" />
          </>
        )}
        {"report" in run && (
          <>
            <h2>Report</h2>
            <Value value={run.report ?? null} label="the report" />
          </>
        )}
        <h2>
          Input
          {run.inputOf !== undefined && (
            <>
              {" "}
              of <RunLink runId={run.inputOf} />
            </>
          )}
        </h2>
        {messages.length > 0 ? (
          <Chat messages={messages} live={false} />
        ) : "input" in run ? (
          <Value value={run.input ?? null} label="the input" />
        ) : (
          <p class="soft">
            {run.lineage?.parent === null ? "None." : "That of its parent, which cannot be read here."}
          </p>
        )}
        <Prompts run={run} />
        <Leftovers run={run} />
        <p class="faint after">
          Started {fullTime(run.startedAt)}
          {run.endedAt !== null && `, ended ${fullTime(run.endedAt)}`}. Choose a call to see what it recorded.
        </p>
      </div>
    </section>
  );
}

/** What a fork asks otherwise than its code. */
function Prompts({ run: { prompts } }: { run: RunPage }): JSX.Element | null {
  if (prompts === undefined) return null;
  return (
    <>
      <h2>Other system prompt</h2>
      {prompts.map(([code, asked]) => {
        const { before, after } = wordDiff(code, asked);
        return (
          <div key={code} class="marked">
            <div class="msg u">
              <small>the code gives</small>
              {code === "" ? <p class="soft">none</p> : <Words pieces={before} />}
            </div>
            <div class="msg u">
              <small>this fork asks with</small>
              <Words pieces={after} />
            </div>
          </div>
        );
      })}
    </>
  );
}

function Leftovers({ run }: { run: RunPage }): JSX.Element | null {
  const lists = [
    ["Recorded, but not used by the code", run.orphans],
    ["Still running at the end, and dropped", run.abandoned],
    ["Failed, and never looked at", run.unawaited],
    ["Could not be undone", run.uncompensated],
  ] as const;
  const some = lists.filter(([, keys]) => keys.length > 0);
  if (some.length === 0) return null;
  return (
    <dl class="kv">
      {some.map(([name, keys]) => (
        <>
          <dt>{name}</dt>
          <dd class="key">{keys.join(", ")}</dd>
        </>
      ))}
    </dl>
  );
}
