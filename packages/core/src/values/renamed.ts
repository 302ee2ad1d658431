/** Options that have another name since. The check of options refuses them with the new one. */
export const renamedOptions: Readonly<Record<string, string>> = {
  limits: "quotas",
  limit: "quota max",
  answerMs: "answerWithin",
  bodyMs: "bodyWithin",
  busyMs: "busyTimeout",
  closeMs: "closeTimeout",
  readMs: "bodyTimeout",
  requestMs: "requestTimeout",
};
