/** The page: its frame, and the view that the address names. */

import { signal } from "@preact/signals";
import { render } from "preact";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import "./style.css";
import "./run.css";
import { countWaits, exported, logOut, openSession } from "./lib/api.ts";
import { fullTime, zoneName } from "./lib/format.ts";
import { useKeys } from "./lib/hooks.ts";
import { isUtc, toggleUtc } from "./lib/kept.ts";
import { hasSession } from "./lib/session.ts";
import { go, hrefOf, parts, place } from "./lib/router.ts";
import {
  connection,
  messageOf,
  notice,
  now,
  session,
  setServerTime,
  theme,
  toggleTheme,
  waiting,
} from "./lib/state.ts";
import { drawVisibly } from "./lib/visible.ts";
import { Dialog, Link, Problem } from "./parts/basic.tsx";
import { Palette } from "./parts/palette.tsx";
import { Search } from "./parts/search.tsx";
import { CostScreen } from "./screens/cost.tsx";
import { DiffScreen } from "./screens/diff.tsx";
import { EvalsScreen } from "./screens/evals.tsx";
import { InboxScreen } from "./screens/inbox.tsx";
import { OperateScreen } from "./screens/operate.tsx";
import { RunScreen } from "./screens/run.tsx";
import { RunsScreen } from "./screens/runs.tsx";

const failure = signal<string | null>(null);
const helping = signal(false);

async function begin(): Promise<void> {
  failure.value = null;
  try {
    session.value = await openSession();
    setServerTime(session.value.now);
  } catch (error) {
    failure.value = messageOf(error);
  }
}

async function leave(): Promise<void> {
  await logOut();
  session.value = null;
  failure.value =
    "You are logged out. To log in again, open the address that was printed when the dashboard started.";
}

function Page(): JSX.Element {
  useKeys({
    "?": () => (helping.value = true),
    "/": () => document.querySelector<HTMLInputElement>("#search")?.focus(),
    t: toggleTheme,
    i: () => go("/inbox"),
  });
  useEffect(() => void begin(), []);
  return (
    <>
      <Header />
      <main id="main">
        {failure.value !== null ? (
          <Locked text={failure.value} />
        ) : session.value === null ? (
          <p class="soft pane">Opening…</p>
        ) : (
          <Screen />
        )}
      </main>
      <Notice />
      {helping.value && <Help />}
      {session.value !== null && <Palette />}
    </>
  );
}

function Screen(): JSX.Element {
  const [first = "runs", second = "", third = ""] = parts.value;
  useEffect(() => {
    document.title = [second || (first === "runs" ? "" : first), "durable"]
      .filter((part) => part !== "")
      .join(" · ");
  }, [place.value.path]);
  useEffect(() => {
    // The inbox itself knows better.
    if (first !== "inbox") void countWaits();
  }, [first]);
  if (first === "runs" && second !== "") return <RunScreen key={second} runId={second} />;
  if (first === "runs") return <RunsScreen />;
  if (first === "inbox") return <InboxScreen />;
  if (first === "cost") return <CostScreen />;
  if (first === "evals") return <EvalsScreen runId={second} />;
  if (first === "operate") return <OperateScreen />;
  if (first === "diff" && third !== "") return <DiffScreen before={second} after={third} />;
  return <Problem text="There is no such page." />;
}

function Header(): JSX.Element {
  const [first = "runs"] = parts.value;
  const on = (name: string): string => (first === name ? "on" : "");
  return (
    <header>
      <Link to="/" class="logo" label="durable, all runs">
        <i aria-hidden="true" />
        durable
      </Link>
      <nav aria-label="Pages">
        <Link to="/" class={on("runs")}>
          Runs
        </Link>
        <Link to="/inbox" class={on("inbox")}>
          Inbox{waiting.value.count > 0 && <b>{`${waiting.value.count}${waiting.value.more ? "+" : ""}`}</b>}
        </Link>
        <Link to="/cost" class={on("cost")}>
          Cost
        </Link>
        <Link to="/evals" class={on("evals")}>
          Evals
        </Link>
        <Link to="/operate" class={on("operate")}>
          Operate
        </Link>
      </nav>
      <Search />
      <span class="store hide" title={session.value?.title}>
        {session.value?.title}
      </span>
      <Live />
      <Zone />
      <button
        type="button"
        class="icon"
        aria-label={`Use the ${theme.value === "dark" ? "light" : "dark"} theme`}
        onClick={toggleTheme}
      >
        {theme.value === "dark" ? "☀" : "☾"}
      </button>
      {hasSession.value && (
        <button type="button" class="icon" aria-label="Log out" title="Log out" onClick={() => void leave()}>
          ⇥
        </button>
      )}
      <button type="button" class="icon" aria-label="Keys" onClick={() => (helping.value = true)}>
        ?
      </button>
    </header>
  );
}

/** The zone of all times; a click changes it. */
function Zone(): JSX.Element {
  const text = `Times in ${isUtc.value ? "UTC" : zoneName(now.value)}`;
  return (
    <button
      type="button"
      class="icon zone"
      aria-pressed={isUtc.value}
      aria-label={`${text}. Use ${isUtc.value ? "your time" : "UTC"}`}
      title={text}
      onClick={toggleUtc}
    >
      {zoneName(now.value)}
    </button>
  );
}

function Live(): JSX.Element | null {
  if (connection.value === "off") return null;
  const isLive = connection.value === "live";
  const everyMs = parts.value[0] === "runs" && parts.value.length > 1 ? null : session.value?.everyMs;
  const how = everyMs ? `every ${everyMs / 1_000} s` : "live";
  return (
    <span class={isLive ? "live" : "live lost"} role="status">
      <span class="hide">{isLive ? how : "reconnecting"}</span>
    </span>
  );
}

function Notice(): JSX.Element {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notice.value !== null && <p class={notice.value.bad ? "bad" : ""}>{notice.value.text}</p>}
    </div>
  );
}

function Locked({ text }: { text: string }): JSX.Element {
  return (
    <div class="card">
      <Problem text={text} onRetry={() => window.location.assign(hrefOf("/"))} />
    </div>
  );
}

const keys: readonly (readonly [string, string])[] = [
  ["j  k", "next and previous line"],
  ["Enter", "open the run"],
  ["/", "search"],
  ["Ctrl K", "go to a run, or do something"],
  ["1  2  3", "timeline, journal, forks"],
  ["h  l", "close and open a group"],
  ["g", "fold idle time, or not"],
  ["f", "fork from the chosen call"],
  ["e", "edit its output and run what follows"],
  ["r", "answer the open wait"],
  ["u", "back to the runs"],
  ["i", "inbox"],
  ["x", "select, or not"],
  ["t", "light or dark"],
  ["?", "these keys"],
];

function Help(): JSX.Element {
  return (
    <Dialog title="Keys" onClose={() => (helping.value = false)}>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split("  ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** An exported file: one run, without a server. */
function FilePage({ data }: { data: NonNullable<typeof exported> }): JSX.Element {
  useKeys({ t: toggleTheme, "?": () => (helping.value = true) });
  return (
    <>
      <header>
        <span class="logo">
          <i aria-hidden="true" />
          durable
        </span>
        <span class="faint">
          Exported {fullTime(data.exportedAt)}
          {data.redacted ? ", redacted" : ""}. This file sends nothing.
        </span>
        <span class="sp" />
        <button type="button" class="icon" aria-label="Change the theme" onClick={toggleTheme}>
          {theme.value === "dark" ? "☀" : "☾"}
        </button>
      </header>
      <main id="main">
        <RunScreen runId={data.run.runId} />
      </main>
      <Notice />
      {helping.value && <Help />}
    </>
  );
}

const root = document.getElementById("app");
drawVisibly();
if (root !== null) render(exported === null ? <Page /> : <FilePage data={exported} />, root);
