/** Processes that send messages to runs. Proven in test/sim.test.ts. */

import { forever, type Actor, type Cluster, type ProcessLife } from "./cluster.ts";
import type { SentMessage } from "./sent-message.ts";
import { judgeFailure } from "./outcome-checks.ts";
import { topics } from "./random-messages.ts";
import { isOpen, type RunLog } from "./run-log.ts";
import { calmAnswer } from "./step-bodies.ts";

/**
 * Sends to runs that are open: early, twice or wrongly while faults last; afterwards what they wait for. Of two senders, each
 * waits for its reply before it sends again.
 */
export function sender(cluster: Cluster, name: string): Actor {
  return {
    name,
    boot: (life) => {
      const { process, app } = life;
      void forever(process, 900, async () => {
        const { history, network } = cluster;
        for (const run of history.runs.filter((one) => isOpen(one) && receives(cluster, one))) {
          if (!network.healed) {
            if (process.random.chance(0.15)) await sendOne(cluster, life, run, process.random.pick(topics));
            continue;
          }
          const outcome = await app.get(run.runId).outcome();
          const waiting = outcome.status === "suspended" ? outcome.waiting : [];
          for (const { topic } of waiting) if (topic !== undefined) await sendOne(cluster, life, run, topic);
        }
      });
    },
  };
}

function receives({ plan }: Cluster, { workflow, status }: RunLog): boolean {
  return status !== "continued" && plan.flows.some(({ name }) => name === workflow && name !== "killer");
}

async function sendOne(cluster: Cluster, life: ProcessLife, run: RunLog, topic: string): Promise<void> {
  const { history, network, plan } = cluster;
  const { process, app } = life;
  const valid = network.healed || process.random.chance(0.85);
  const count = history.sends.length;
  const right = plan.calm ? calmAnswer(topic) : { ok: `sent ${count}` };
  // In a calm plan every receive is checked, so that a wrong message changes no output.
  const value = valid ? right : "rubbish";
  const sent: SentMessage = { run, topic, id: `message-${count}`, value, status: null };
  history.sends.push(sent);
  const tries = process.random.chance(0.3) ? 2 : 1;
  for (let n = 0; n < tries; n++) {
    try {
      const { status, repeated } = await app.send(run.runId, topic, value, { id: sent.id });
      sent.status = status;
      history.meet(`a message ${repeated ? "repeated" : status}`);
      history.say(process.name, `sends ${sent.id} to ${run.runId} ${topic}: ${status}`);
    } catch (error) {
      judgeFailure(cluster, process.name, error);
    }
  }
}
