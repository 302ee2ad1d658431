/** Who lives in a simulated town: workers or sweepers, those who start runs, those who answer, and a hand that meddles. */

import { createWorker, DurableError, type App, type Outcome } from "@durable/core";
import type { Attempted } from "./history.ts";
import { namedBy } from "./records.ts";
import type { Action, RunPlan } from "./plan.ts";
import type { Process } from "./process.ts";
import type { Program } from "./program.ts";
import { judgeReply } from "./replies.ts";
import type { Actor, Life, Town } from "./town.ts";

export function actorsOf(town: Town): Actor[] {
  const { workers } = town.plan;
  return [
    ...Array.from({ length: workers }, (_, i) => worker(town, `worker-${i + 1}`)),
    starter(town),
    answerer(town),
    meddler(),
  ];
}

function worker(town: Town, name: string): Actor {
  const { sweeps, intervalMs, concurrency } = town.plan;
  const onStop = (outcome: Outcome<unknown>): void => {
    town.history.meet(`a drive that ended ${outcome.status}`);
    judgeOutcome(town, outcome);
  };
  return {
    name,
    boot: ({ process, app }) => {
      if (!sweeps) return void createWorker(app, { concurrency, interval: intervalMs, maxStarts: 6, onStop });
      void forever(process, intervalMs, async () => {
        const { failed, outcomes } = await app.sweep({ concurrency });
        outcomes.forEach(onStop);
        for (const { error } of failed) judgeFailure(town, process.name, error);
      });
    },
  };
}

/** A run is blocked by other code, or as one that kills; by nothing else, as long as the storage does not lie. */
function judgeOutcome(town: Town, outcome: Outcome<unknown>): void {
  const { history } = town;
  if (outcome.status !== "blocked") return;
  const { runId, error } = outcome;
  const run = history.run(runId);
  const expected = error.code === "poison" || (error.code === "diverged" && history.codeChanges);
  const lied = run === undefined || history.lineage(run).some(({ tainted }) => tainted);
  // A driver of a run that was deleted finds its journal gone.
  const gone = run?.deleted === true || history.runs.some((other) => other.runId === runId && other.deleted);
  if (!expected && !lied && !gone) history.violate("I8", `run ${runId} is blocked: ${error.message}`);
  noteBlocked(town, runId, error);
}

/** Runs that only another code, or nobody, can go on with: once faults have ended, that is an end too. */
function noteBlocked(town: Town, runId: string, error: unknown): void {
  const { history, network, lives } = town;
  if (!network.healed) return;
  const killer = history.run(runId)?.workflow === "killer";
  if (DurableError.is(error, "poison") && !killer) {
    // It met too many crashes of others: a person who has looked at it advances it by hand.
    history.meet("a run taken for a killer");
    void lives
      .at(-1)
      ?.app.advance(runId)
      .catch((failure: unknown) => judgeFailure(town, "hand", failure));
  } else if (
    DurableError.is(error, "poison") ||
    (DurableError.is(error, "diverged") && history.codeChanges)
  ) {
    history.blocked.add(runId);
  }
}

/** Law 8: whether a batch landed is for the library to find out. And what it throws is its own, or the network's. */
function judgeFailure({ history }: Town, who: string, error: unknown): void {
  history.say(who, String(error));
  if (DurableError.is(error)) return;
  const text = error instanceof Error ? error.message : String(error);
  if (!text.startsWith("The connection was lost")) history.violate("I11", `${who} was told ${text}`);
  if (text.endsWith("during append.")) history.violate("I8", `${who} was told of an append nobody settled`);
}

/** Does something again and again for as long as its process lives; a failure is waited out. */
async function forever(process: Process, ms: number, work: () => Promise<void>): Promise<void> {
  const asked = new AbortController();
  process.world.onTerminate(() => asked.abort());
  while (!asked.signal.aborted) {
    try {
      await work();
    } catch (error) {
      process.history.say(process.name, String(error));
    }
    if (!asked.signal.aborted) await process.pause(ms);
  }
}

/** Starts every run of the plan, and asks again until it is told that the run is there. */
function starter(town: Town): Actor {
  const { history, plan } = town;
  const start = async (life: Life, { id, flow }: RunPlan): Promise<void> => {
    const { process, flows } = life;
    while (history.run(id) === undefined) {
      try {
        // Some wait for the end of what they start, some do not.
        const input = town.programs[flow]?.input;
        if (process.random.chance(0.5)) await flows[flow]?.start(input, { id });
        else {
          const outcome = await flows[flow]?.run(input, { id });
          if (outcome !== undefined) judgeOutcome(town, outcome);
        }
        history.meet("a start that was acknowledged");
      } catch (error) {
        judgeFailure(town, process.name, error);
        history.meet("a start that failed");
      }
      await process.pause(1_500);
    }
  };
  return {
    name: "starter",
    boot: (life) => {
      for (const run of plan.runs) {
        const wait = Math.max(0, run.at - (town.scheduler.now - startOfTime));
        for (let i = 0; i < run.starters; i++) void life.process.pause(wait).then(() => start(life, run));
      }
    },
  };
}

/** The time at which every simulation begins. */
export const startOfTime = Date.UTC(2026, 0, 1);

/** Answers what it reads in outcomes and in its mail: late, early, twice, wrongly, until faults end; then rightly. */
function answerer(town: Town): Actor {
  return {
    name: "answerer",
    boot: ({ process, app }) => {
      let mails = town.mailbox.length;
      town.onMail = (token) => {
        // Whoever is quick answers before anybody waits.
        if (process.random.chance(0.3))
          void process.pause(process.random.between(0, 30)).then(() => answer(town, process, app, token));
      };
      void forever(process, 700, async () => {
        const { network, mailbox, history } = town;
        // Mail that came before this life began was read by another.
        for (; mails < mailbox.length; mails++) {
          if (process.random.chance(0.5)) void answer(town, process, app, mailbox[mails] as string);
        }
        for (const run of history.runs.filter(({ deleted }) => !deleted)) {
          if (run.status !== "suspended" || (!network.healed && process.random.chance(0.6))) continue;
          const outcome = await app.get(run.runId).outcome();
          const waiting = outcome.status === "suspended" ? outcome.waiting : [];
          for (const { token } of waiting) await answer(town, process, app, token);
        }
      });
    },
  };
}

async function answer(town: Town, process: Process, app: App, token: string): Promise<void> {
  const { history, network, scheduler } = town;
  const wait = history.waits.get(namedBy(token));
  if (wait === undefined)
    return history.violate("I6", `${process.name} was given a token no workflow made: ${token}`);
  const { random } = process;
  const forged = !network.healed && random.chance(0.05);
  const { workflow } = history.run(wait.runId) ?? {};
  const program = town.programs.find(({ name }) => name === workflow) ?? town.programs[0];
  const valid = network.healed || program?.rubbish === undefined || random.chance(0.85);
  const answered = valid ? answerOf(town, program, wait) : { value: program?.rubbish };
  if (answered === null) return;
  const { value } = answered;
  const how = network.healed || random.chance(0.6) ? "resume" : "deliver";
  const id = random.chance(0.4) ? `answer-${history.answers.length}` : null;
  const attempted: Attempted = {
    ...wait,
    value,
    id,
    how,
    valid,
    status: null,
    from: scheduler.now,
    until: Number.POSITIVE_INFINITY,
  };
  if (!forged) history.answers.push(attempted);
  const sent = forged ? flip(token) : token;
  const tries = random.chance(0.3) ? 2 : 1;
  const one = async (): Promise<void> => {
    try {
      const { status, outcome } = await app[how](sent, value, id === null ? {} : { id });
      if (outcome !== undefined) judgeOutcome(town, outcome);
      history.meet(`an answer ${status}`);
      history.say(process.name, `${how} ${wait.runId} ${wait.key}: ${status}`);
      if (forged && status !== "unknown") history.violate("I6", `a forged token was ${status}`);
      if (!forged)
        judgeReply(history, { answer: attempted, status, now: scheduler.now, slackMs: town.slackMs });
      attempted.status = attempted.status === "accepted" ? "accepted" : status;
      attempted.until = scheduler.now;
    } catch (error) {
      judgeFailure(town, process.name, error);
      noteBlocked(town, wait.runId, error);
    }
  };
  await Promise.all(Array.from({ length: tries }, one));
}

function answerOf(town: Town, program: Program | undefined, wait: Wait): { readonly value: unknown } | null {
  const { history } = town;
  const run = history.run(wait.runId);
  const opened =
    run && history.entries(run).find(({ kind, key }) => kind === "suspend.opened" && key === wait.key);
  try {
    const expires = (opened?.expiresAt ?? null) !== null;
    return program?.answer({ key: wait.key, expires }, history.answers.length) ?? null;
  } catch (error) {
    // Nobody has an answer: the run would wait for ever.
    history.violate("I4", error instanceof Error ? error.message : String(error));
    return null;
  }
}

interface Wait {
  readonly runId: string;
  readonly key: string;
}

function flip(token: string): string {
  const last = token.at(-1) === "a" ? "b" : "a";
  return token.slice(0, -1) + last;
}

/** A process of its own for what is done to runs by hand. */
function meddler(): Actor {
  return { name: "hand", boot: () => {} };
}

/** Carries out one action of the plan. */
export function act(town: Town, action: Action): void {
  const { history, lives, scheduler } = town;
  const { kind, target, ms } = action;
  const life = lives[target % lives.length] as Life;
  history.say("plan", `${kind} ${target}`);
  history.meet(`action ${kind}`);
  switch (kind) {
    case "kill":
      return life.process.kill("killed");
    case "terminate":
      life.process.terminate();
      return void scheduler.after(ms, null, () => life.process.kill("ended"));
    case "pause":
      life.process.pausedUntil = scheduler.now + ms;
      return;
    case "set-clock":
      life.process.skewMs += target % 2 === 0 ? ms : -ms;
      return;
    case "deploy":
      town.deployed = true;
      return life.process.kill("redeployed");
    case "rotate":
      town.rotated = true;
      return;
    case "fill-disk":
      town.disk.full = true;
      return void scheduler.after(ms, null, () => {
        town.disk.full = false;
      });
    default:
      void meddle(town, action).catch((error: unknown) => judgeFailure(town, "hand", error));
  }
}

async function meddle(town: Town, { kind, target }: Action): Promise<void> {
  const { history, lives } = town;
  const life = lives.at(-1) as Life;
  const { runs } = history;
  const run = runs[target % Math.max(1, runs.length)];
  if (run === undefined || !life.process.alive) return;
  const { app } = life;
  switch (kind) {
    case "cancel":
      return void (await app.cancel(run.runId, "by hand"));
    case "delete":
      return app.delete(run.runId);
    case "advance":
      return judgeOutcome(town, await app.advance(run.runId));
    case "fork":
      return void (await town.fork(life, run.runId, { edit: !town.plan.calm && target % 3 === 0 }));
    case "storm": {
      const outcome = await app.get(run.runId).outcome();
      const [point] = outcome.status === "suspended" ? outcome.waiting : [];
      if (point !== undefined)
        await Promise.all(Array.from({ length: 6 }, () => answer(town, life.process, app, point.token)));
      return;
    }
    default:
  }
}
