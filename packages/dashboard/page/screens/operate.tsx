/** What is not about single runs: schedules, workers, limits, and the removal of old runs. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ActionReply } from "../../src/api.ts";
import { getOperations } from "../lib/api.ts";
import { useLoad } from "../lib/hooks.ts";
import { queryOf, setQuery } from "../lib/router.ts";
import { messageOf, say, session, setServerTime } from "../lib/state.ts";
import { Problem, Tabs } from "../parts/basic.tsx";
import { CleanUp } from "../parts/clean-up.tsx";
import { Limits } from "../parts/limits.tsx";
import type { OperateProps } from "../parts/operate-props.ts";
import { Schedules } from "../parts/schedules.tsx";
import { Workers } from "../parts/workers.tsx";

/** Nothing announces changes of these, so they are read again now and then. */
const everyMs = 5_000;

const tabs = [
  { id: "schedules", name: "Schedules" },
  { id: "workers", name: "Workers" },
  { id: "limits", name: "Limits" },
  { id: "clean-up", name: "Clean up" },
] as const;

export function OperateScreen(): JSX.Element {
  const { data, reload } = useLoad("operate", async () => {
    const found = await getOperations();
    setServerTime(found.now);
    return found;
  });
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && void reload(), everyMs);
    return () => clearInterval(timer);
  }, []);
  const { value, error } = data.value;
  if (value === null)
    return error === null ? (
      <p class="soft pane">Reading the schedules and workers…</p>
    ) : (
      <Problem text={error} onRetry={() => void reload()} />
    );
  const act = (work: () => Promise<ActionReply>): void =>
    void work()
      .then(({ message }) => say(message))
      .catch((problem: unknown) => say(messageOf(problem), true))
      .then(reload);
  const props: OperateProps = { data: value, act: session.value?.readOnly === false ? act : null };
  const asked = queryOf("tab");
  const tab = tabs.find(({ id }) => id === asked)?.id ?? "schedules";
  return (
    <div class="card operate">
      <h1 class="unseen">Operate</h1>
      <Tabs
        tabs={tabs}
        chosen={tab}
        label="Parts"
        onChoose={(id) => setQuery({ tab: id === "schedules" ? null : id })}
      />
      {tab === "schedules" && <Schedules {...props} />}
      {tab === "workers" && <Workers {...props} />}
      {tab === "limits" && <Limits {...props} />}
      {tab === "clean-up" && <CleanUp {...props} />}
    </div>
  );
}
