import { createApp } from "@durable/core";
import { answer } from "./answer.ts";

/** Journals are in .durable/journal.db. */
export const app = createApp({ workflows: [answer] });
