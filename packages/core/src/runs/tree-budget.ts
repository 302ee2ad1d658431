/**
 * The sums of budgets that a run and all runs below it share: a text of the storage for each.
 *
 * tree-budget.1. The expected cost of a call is reserved before it begins. If its process dies, it counts as that.
 * tree-budget.2. The cost of a call is counted before it is recorded, so that no crash between the two loses it.
 * tree-budget.3. An amount that a person has added counts once, whichever run tells of it, and how often.
 * tree-budget.4. With encryption the text is sealed: a run that finds another one there is blocked as `tampered`, and spends
 *     nothing. Where the text is gone, a run counts at least what its own journal says.
 */

import { fits, type TreeLedger } from "../engine/budgeting.ts";
import type { TreeBudget } from "../journal/entry.ts";
import type { Host } from "./host.ts";
import { openText, sealText } from "./sealed-text.ts";
import { TextStore } from "./window.ts";

interface State {
  spent: number;
  /** What is reserved: the attempt, and what it is expected to cost, by call. */
  held: Record<string, [token: string, cost: number]>;
  raises: Record<string, number>;
}

/** A tree may wait for a person for a long time. */
const keepMs = 366 * 86_400_000;

export function treeLedger(host: Host): TreeLedger {
  return {
    take: async (tree, { id, token }, next, { raises, own }) => {
      let taken = { spent: 0, most: 0, granted: false };
      await change(host, tree, (state) => {
        const [before, cost] = state.held[id] ?? [token, 0];
        // An earlier life has begun the call, and how that ended is not known.
        if (before !== token) state.spent += cost;
        state.spent = Math.max(state.spent, own);
        delete state.held[id];
        Object.assign(state.raises, raises);
        const { spent } = state;
        const most = Object.values(state.raises).reduce((sum, more) => sum + more, tree.most);
        taken = { spent, most, granted: fits(spent, next, most) };
        if (taken.granted) state.held[id] = [token, next];
      });
      return taken;
    },
    settle: (tree, { id, token }, cost) =>
      change(host, tree, (state) => {
        const held = state.held[id];
        // The reply to an earlier request was lost.
        if (held === undefined || held[0] !== token) return;
        delete state.held[id];
        state.spent += cost === null ? 0 : cost;
      }),
  };
}

async function change(host: Host, { id }: TreeBudget, apply: (state: State) => void): Promise<void> {
  const store = new TextStore(await host.storage(), host.world);
  const { encryption = null } = host.options;
  const name = `budget ${id}`;
  await store.update(name, async (kept) => {
    const text = kept === null ? '{"spent":0,"held":{},"raises":{}}' : await openText(encryption, name, kept);
    const state = JSON.parse(text) as State;
    apply(state);
    return { wait: 0, keepMs, text: await sealText(encryption, name, JSON.stringify(state)) };
  });
}
