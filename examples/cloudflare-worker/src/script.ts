/** The script of the offline model. */

import { questionOf, type Script } from "example-llm";

export const script: Script = (prompt) => {
  const [task = "", first = "", second = ""] = questionOf(prompt).split("\n");
  if (task.startsWith("Outline")) return { text: `What is new: ${first}. Since when. Whom to ask.` };
  if (task.startsWith("Write"))
    return { text: `${first}: from today, for everybody. Questions are welcome at the harbour office.` };
  return { text: `${first} ${second[0]?.toUpperCase() ?? ""}${second.slice(1)}` };
};
