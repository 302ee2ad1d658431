/** The process that answers suspend points. Proven in test/sim.test.ts. */

import type { App } from "@durable/core";
import { failureFor, isRushed } from "./failure-answers.ts";
import type { History } from "./history.ts";
import type { AnswerAttempt, NotedWait } from "./notes.ts";
import { judgeFailure, judgeOutcome, noteBlocked, retryBlocked } from "./outcome-checks.ts";
import type { Process } from "./process.ts";
import type { Program } from "./program.ts";
import { namedBy, type RunLog } from "./run-log.ts";
import { judgeReply } from "./reply-checks.ts";
import { inProcess } from "./surroundings.ts";
import { forever, type Actor, type Cluster } from "./cluster.ts";

/**
 * Answers the tokens it finds in outcomes and in the mailbox: late, early, twice or wrongly while faults
 * last, and correctly afterwards.
 */
export function answerer(cluster: Cluster): Actor {
  return {
    name: "answerer",
    boot: ({ process, app }) => {
      let mails = cluster.mailbox.length;
      cluster.onMail = (token) => {
        // A quick answer arrives before the workflow waits for it.
        if (process.random.chance(0.3))
          void process
            .pause(process.random.between(0, 30))
            .then(() => inProcess(process.name, () => answer(cluster, process, app, token)));
      };
      void forever(process, 700, async () => {
        const { network, mailbox, history } = cluster;
        // An earlier life of this process has read the older mail.
        for (; mails < mailbox.length; mails++) {
          if (process.random.chance(0.5)) void answer(cluster, process, app, mailbox[mails] as string);
        }
        // Old mail is answered again, also if its run is gone.
        if (mailbox.length > 0 && !network.healed && process.random.chance(0.15))
          void answer(cluster, process, app, process.random.pick(mailbox));
        for (const run of history.runs.filter(({ deleted }) => !deleted)) {
          if (run.status !== "suspended" || (!network.healed && process.random.chance(0.6))) continue;
          if (isAsleep(cluster, run) && process.random.chance(0.95)) continue;
          const outcome = await app
            .get(run.runId)
            .outcome()
            .catch((error: unknown) => {
              // A journal that a lying storage has damaged keeps nobody from answering the other runs.
              if (run.tainted) return null;
              throw error;
            });
          if (outcome === null) continue;
          if (outcome.status === "blocked") retryBlocked(cluster, run.runId);
          const waiting = outcome.status === "suspended" ? outcome.waiting : [];
          for (const { token, topic } of waiting)
            if (topic === undefined) await answer(cluster, process, app, token);
        }
      });
    },
  };
}

export async function answer(cluster: Cluster, process: Process, app: App, token: string): Promise<void> {
  const { history, network, scheduler } = cluster;
  const wait = history.waits.get(namedBy(token));
  if (wait === undefined)
    return history.violate("I6", `${process.name} got a token that no workflow made: ${token}`);
  const { random } = process;
  await rush(cluster, process, app, { token, wait });
  const forged = !network.healed && random.chance(0.05);
  const { workflow } = wait.run ?? history.run(wait.runId) ?? {};
  const program = cluster.programs.find(({ name }) => name === workflow) ?? cluster.programs[0];
  const valid = network.healed || program?.rubbish === undefined || random.chance(0.85);
  const answered = valid ? answerOf(cluster, program, wait) : { value: program?.rubbish };
  if (answered === null) return;
  const failure = isGenerated(program) ? failureFor(cluster.plan, wait, history.answers.length) : null;
  const value = failure === null ? answered.value : undefined;
  const how = network.healed || random.chance(0.6) ? "resume" : "record";
  const id = random.chance(0.4) ? `answer-${history.answers.length}` : null;
  const attempted: AnswerAttempt = {
    ...wait,
    value,
    ...(failure === null ? {} : { failure: failure.message }),
    id,
    how,
    // No schema is asked about a failure.
    valid: valid || failure !== null,
    status: null,
    from: scheduler.now,
    until: Number.POSITIVE_INFINITY,
  };
  if (!forged) history.answers.push(attempted);
  const sent = forged ? flip(token) : token;
  const tries = random.chance(0.3) ? 2 : 1;
  const one = async (): Promise<void> => {
    try {
      const options = { ...(id === null ? {} : { id }), ...(failure === null ? {} : { error: failure }) };
      const { status, outcome } = await app.resume(sent, value, { ...options, drive: how === "resume" });
      if (failure !== null && status === "accepted") history.meet("an answer that is a failure");
      if (outcome !== undefined) judgeOutcome(cluster, outcome);
      history.meet(`an answer ${status}`);
      history.say(process.name, `${how} ${wait.runId} ${wait.key}: ${status}`);
      if (forged && status !== "unknown") history.violate("I6", `a forged token was ${status}`);
      if (!forged)
        judgeReply(history, { answer: attempted, status, now: scheduler.now, slackMs: cluster.slackMs });
      attempted.status = attempted.status === "accepted" ? "accepted" : status;
      attempted.until = scheduler.now;
    } catch (error) {
      judgeFailure(cluster, process.name, error);
      noteBlocked(cluster, wait.runId, error);
    }
  };
  await Promise.all(Array.from({ length: tries }, one));
}

/** Another caller, who answers first and badly: the wait is then asked to take an answer that is not checked yet. */
async function rush(
  cluster: Cluster,
  process: Process,
  app: App,
  { token, wait }: { readonly token: string; readonly wait: NotedWait },
): Promise<void> {
  const { history, network, scheduler } = cluster;
  const { workflow } = wait.run ?? history.run(wait.runId) ?? {};
  const program = cluster.programs.find(({ name }) => name === workflow);
  if (program?.rubbish === undefined || !isGenerated(program) || network.healed) return;
  if (!isRushed(cluster.plan, history.answers.length)) return;
  const { rubbish: value } = program;
  const rushed: AnswerAttempt = {
    ...wait,
    value,
    id: null,
    how: "record",
    valid: false,
    status: null,
    from: scheduler.now,
    until: Number.POSITIVE_INFINITY,
  };
  history.answers.push(rushed);
  try {
    const { status } = await app.resume(token, value, { drive: false });
    history.say(process.name, `rushes ${wait.runId} ${wait.key}: ${status}`);
    judgeReply(history, { answer: rushed, status, now: scheduler.now, slackMs: cluster.slackMs });
    rushed.status = status;
    rushed.until = scheduler.now;
  } catch (error) {
    judgeFailure(cluster, process.name, error);
  }
}

/**
 * A run of a user's workflow that waits for its time and for no answer: it is read now and then, because it may be
 * blocked. Seeds of generated workflows keep their histories.
 */
function isAsleep({ programs, history }: Cluster, run: RunLog): boolean {
  if (programs.every(isGenerated)) return false;
  const open = new Set<string | undefined>();
  for (const { kind, key } of history.entries(run)) {
    if (kind === "suspend.opened") open.add(key);
    else if (/^suspend\.(?:resolved|expired|closed)$/.test(kind)) open.delete(key);
  }
  return open.size === 0;
}

/** The workflows of others do not expect failures. */
function isGenerated(program: Program | undefined): boolean {
  return program?.perform === undefined;
}

function answerOf(
  cluster: Cluster,
  program: Program | undefined,
  wait: NotedWait,
): { readonly value: unknown } | null {
  const { history } = cluster;
  const { run } = wait;
  const opened =
    run && history.entries(run).find(({ kind, key }) => kind === "suspend.opened" && key === wait.key);
  try {
    const expires = (opened?.expiresAt ?? null) !== null;
    const asked = { key: wait.key, expires, ...effectsOf(history, wait) };
    return program?.answer(asked, history.answers.length) ?? null;
  } catch (error) {
    // Without an answer the run would wait forever.
    history.violate("I4", error instanceof Error ? error.message : String(error));
    return null;
  }
}

/** The effects that a question about an uncertain attempt is about. */
function effectsOf(history: History, { run, key }: NotedWait): { readonly effects?: readonly unknown[] } {
  const [asked, step] = /^(.*)\/uncertain(#\d+)?$/.exec(key) ?? [];
  if (asked === undefined) return {};
  const body = history.bodies.find((other) => other.run === run && other.key === step);
  const done = history.effects.filter(({ idempotencyKey }) => idempotencyKey === body?.idempotencyKey);
  return { effects: done.map(({ value }) => value) };
}

function flip(token: string): string {
  const last = token.at(-1) === "a" ? "b" : "a";
  return token.slice(0, -1) + last;
}
