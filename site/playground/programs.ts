/** The programs to choose from, as the editor shows them. */
import agent from "./programs/agent.ts?raw";
import approval from "./programs/approval.ts?raw";
import race from "./programs/race.ts?raw";
import review from "./programs/review.ts?raw";
import saga from "./programs/saga.ts?raw";
import story from "./programs/story.ts?raw";

export interface Program {
  readonly name: string;
  readonly title: string;
  readonly code: string;
}

export const programs: readonly [Program, ...Program[]] = [
  { name: "story", title: "A story", code: story },
  { name: "agent", title: "An agent with tools", code: agent },
  { name: "approval", title: "An approval", code: approval },
  { name: "review", title: "A parallel review", code: review },
  { name: "saga", title: "A saga that is undone", code: saga },
  { name: "race", title: "A race of models", code: race },
];
