/**
 * Kills the server of a chat at every instant of every form of conversation:
 *
 *     npm run soak:chat
 */

import { forms, instants, KillLab } from "./support/chat-kills.ts";

const lab = await KillLab.open();
let kills = 0;
try {
  for (const form of forms)
    for (const instant of instants) {
      const { killed, shown, calls, effects } = await lab.killAt(form, instant);
      kills += Number(killed);
      console.log(
        `${form.name}, instant ${instant.event}: ${shown} parts shown, ${calls} calls, ${effects} effects`,
      );
    }
  console.log(`soak:chat: ${kills} kills; one clean list of messages each time, no tool twice`);
} catch (error) {
  console.error("soak:chat: FAILED:", error);
  process.exitCode = 1;
} finally {
  await lab.close();
}
