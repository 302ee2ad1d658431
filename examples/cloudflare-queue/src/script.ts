/** The script of the offline model. */

import { questionOf, type Script } from "example-llm";

export const script: Script = (prompt) => {
  const [task = "", topic = ""] = questionOf(prompt).split("\n");
  if (task.startsWith("Plan")) return { text: `First the figures on ${topic}, then what follows from them.` };
  return { text: `On ${topic}: the figures are in, and they hold. What follows from them is on page two.` };
};
