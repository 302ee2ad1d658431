/** Numbers, times and ids as people read them. */

import type { RunStateName, RunStatus } from "@durable/core";
import { costText, countText, secondsText } from "@durable/core/inspect";
import type { Row } from "../../src/api.ts";
import { isUtc } from "./kept.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** 4.1 s, 6 min, 2 d 4 h: at most two units. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "";
  if (ms < 0.01) return "0 s";
  if (ms < 1) return `${ms.toPrecision(1)} ms`;
  if (ms < second) return `${Math.round(ms)} ms`;
  const seconds = secondsText(ms);
  if (seconds !== null) return `${seconds.replace(/\.0$/, "")} s`;
  if (ms < minute) return "1 min";
  const units: readonly (readonly [number, string])[] = [
    [day, "d"],
    [hour, "h"],
    [minute, "min"],
    [second, "s"],
  ];
  const first = units.findIndex(([size]) => ms >= size);
  const [size, name] = units[first] ?? [second, "s"];
  const [nextSize = 0, nextName = ""] = units[first + 1] ?? [];
  const rest = nextSize === 0 ? 0 : Math.floor((ms % size) / nextSize);
  return `${Math.floor(ms / size)} ${name}${rest === 0 ? "" : ` ${rest} ${nextName}`}`;
}

/** "42 min", or "late by 2 h". */
export function timeLeft(ms: number): string {
  return ms > 0 ? `${duration(ms)} left` : `late by ${duration(-ms)}`;
}

const zone = (): { timeZone?: string } => (isUtc.value ? { timeZone: "UTC" } : {});

/** 12:06 today, 14 Nov 12:06 before. The head of its column, or a tooltip, says the zone. */
export function clock(at: number, now: number): string {
  const dayOf = (time: number): string =>
    new Date(time).toLocaleDateString("en-GB", { ...zone(), day: "numeric", month: "short" });
  const time = new Date(at).toLocaleTimeString("en-GB", { ...zone(), hour: "2-digit", minute: "2-digit" });
  return dayOf(at) === dayOf(now) && Math.abs(at - now) < 2 * day ? time : `${dayOf(at)} ${time}`;
}

/** The short name of the zone that times are shown in: UTC, CET, GMT-8. */
export function zoneName(at: number): string {
  const parts = new Intl.DateTimeFormat("en-GB", { ...zone(), timeZoneName: "short" }).formatToParts(at);
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** 2026-11-16 05:23:46 GMT-8. Swedes write dates as ISO 8601 does. */
export function fullTime(at: number): string {
  return `${new Date(at).toLocaleString("sv-SE", zone())} ${zoneName(at)}`;
}

export function timeOfDay(at: number): string {
  const date = new Date(at);
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${date.toLocaleTimeString("en-GB", zone())}.${ms}`;
}

export { countText as count };

/** Empty for what cost nothing, or has no price. */
export function cost(value: number | null | undefined): string {
  return value === null || value === undefined || value === 0 ? "" : costText(value);
}

/** An amount with cents, as tables of money have it; "≥" where some of it is not known. */
export function spent({
  cost: value,
  unpriced,
}: {
  readonly cost: number;
  readonly unpriced: boolean;
}): string {
  const cents = value >= 0.995 || value === 0 ? value.toLocaleString("en", money) : costText(value).slice(1);
  return `${unpriced ? "≥ " : ""}$${cents}`;
}

const money = { minimumFractionDigits: 2, maximumFractionDigits: 2 };

/** Ids that were drawn are long and begin alike, so the end tells them apart. */
export function shortId(runId: string): string {
  return runId.length <= 20 ? runId : `…${runId.slice(-6)}`;
}

const statusNames: Readonly<Record<RunStatus, string>> = {
  blocked: "Blocked",
  failed: "Failed",
  suspended: "Waiting",
  paused: "Paused",
  running: "Running",
  completed: "Completed",
  cancelled: "Cancelled",
};

export function statusName(status: RunStatus): string {
  return statusNames[status];
}

/** The word of the library, as the page writes it. */
export function stateName(state: RunStateName): string {
  return state === "open" ? "Open journal" : `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** What people know a model call by: its number, its model and its first words. */
export function turnText({ turn, model, words = "" }: Row): string {
  return [`turn ${turn}${model === undefined ? "" : ` ${model}`}`, words].filter(Boolean).join(": ");
}
