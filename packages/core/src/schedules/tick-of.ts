/** The tick that a run belongs to. Its id has the schedule and the time, so that the workflow can read both from `ctx.runId`. */

/** The schedule and the time of the tick that started a run; `null` for any other run. */
export function tickOf(runId: string): { readonly schedule: string; readonly at: number } | null {
  const [, schedule, year, month, day, hour, minute, second] =
    /^(.+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(runId) ?? [];
  if (schedule === undefined) return null;
  const at = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  return { schedule, at };
}
