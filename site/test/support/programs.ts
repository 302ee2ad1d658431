/** What the six programs do, and what each button must cost in them. */

/** What one output of a program is good for. */
interface Output {
  /** Calls of a fork that begins there. */
  readonly fork: number;
  /** Calls of a fork that replaces it. */
  readonly edit: number;
  /** Another output, as JSON; `mark` by default. */
  readonly json?: string;
  /** A call that comes later carries it. */
  readonly isSent: boolean;
}

/** A change of the code while a run is parked. */
interface Change {
  /** Calls that are answered before: it is parked by a crash, or because it waits. */
  readonly after: number;
  /** A text below the place, what it becomes, and the call that shows it. */
  readonly below: readonly [from: string, to: string, call: RegExp];
  /** A name that is recorded, another one, and what the refusal names. */
  readonly recorded: readonly [from: string, to: string, named: string];
}

export interface Plain {
  /** Calls when nothing goes wrong. */
  readonly calls: number;
  /** Places for a crash: calls that are under way together are one. */
  readonly places: number;
  readonly end: "completed" | "failed";
  readonly outputs: Readonly<Record<string, Output>>;
  readonly change: Change;
}

/** What an edit writes where any text will do. */
export const mark = "written by a person";

export const programs: Readonly<Record<string, Plain>> = {
  story: {
    calls: 4,
    places: 4,
    end: "completed",
    outputs: {
      outline: { fork: 4, edit: 3, json: `"the fog, ${mark}"`, isSent: true },
      chapter: { fork: 3, edit: 2, isSent: true },
      "chapter#2": { fork: 2, edit: 1, isSent: true },
      title: { fork: 1, edit: 0, isSent: false },
    },
    change: {
      after: 1,
      below: ["A title for:", "A title in capitals for:", /asks .* in capitals/],
      recorded: ['"outline"', '"sketch"', "outline"],
    },
  },
  agent: {
    calls: 4,
    places: 4,
    end: "completed",
    outputs: {
      choose: { fork: 4, edit: 3, json: `"weather: ${mark}"`, isSent: true },
      weather: { fork: 3, edit: 2, isSent: true },
      search: { fork: 2, edit: 1, isSent: true },
      answer: { fork: 1, edit: 0, isSent: false },
    },
    change: {
      after: 2,
      below: ["Answer ${question}", "Answer in verse ${question}", /asks .* in verse/],
      recorded: ['"choose"', '"pick"', "choose"],
    },
  },
  approval: {
    calls: 3,
    places: 3,
    end: "completed",
    outputs: {
      // Its reply is shown to the person who approves.
      draft: { fork: 3, edit: 2, isSent: false },
      refund: { fork: 2, edit: 1, isSent: false },
      mail: { fork: 1, edit: 0, isSent: false },
    },
    change: {
      after: 1,
      below: ["mail to", "letter to", /calls letter to/],
      recorded: ['"approve"', '"permit"', "approve"],
    },
  },
  review: {
    calls: 4,
    places: 4,
    end: "completed",
    outputs: {
      "parallel[law]/read": { fork: 2, edit: 1, isSent: true },
      "parallel[cost]/read": { fork: 2, edit: 1, isSent: true },
      "parallel[tone]/read": { fork: 2, edit: 1, isSent: true },
      summary: { fork: 1, edit: 0, isSent: false },
    },
    change: {
      after: 1,
      below: ["Summarize", "Summarize in verse", /asks .* in verse/],
      recorded: ["law:", "rights:", "law"],
    },
  },
  saga: {
    calls: 5,
    places: 5,
    end: "failed",
    outputs: {
      // A fork of a run that was undone does again what was undone, and never undoes what it was given.
      flight: { fork: 5, edit: 3, isSent: false },
      hotel: { fork: 5, edit: 3, isSent: false },
    },
    change: {
      after: 1,
      below: ["book car", "book a red car", /calls book a red car/],
      recorded: ['"flight"', '"plane"', "flight"],
    },
  },
  race: {
    calls: 3,
    places: 2,
    end: "completed",
    outputs: {
      "race[atlas]/ask": { fork: 3, edit: 1, isSent: true },
      write: { fork: 1, edit: 0, isSent: false },
    },
    change: {
      after: 1,
      below: ["A chapter about", "A chapter in verse about", /asks .* in verse/],
      recorded: ["atlas:", "first:", "atlas"],
    },
  },
};
