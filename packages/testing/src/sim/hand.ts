/** What a plan has happen at given times. */

import { answer } from "./answers.ts";
import { judgeFailure, judgeOutcome } from "./outcomes.ts";
import type { Action } from "./plan.ts";
import type { Life, Town } from "./town.ts";

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
