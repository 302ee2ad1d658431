import { describe, expect, test } from "vitest";
import { decide, ownWords } from "../src/reply.ts";

const from = "Ada Lovelace <ada@example.com>";

describe("what a reply says", () => {
  test.each([
    ["approve", "approve"],
    ["Approved.", "approve"],
    ["  APPROVE!  \n\nAda", "approve"],
    ["Yes, please", "approve"],
    ["lgtm, thanks!", "approve"],
    ["Ship it\n\n> approve   to go ahead", "approve"],
    ["Go ahead.\n\nBest wishes\nAda", "approve"],
    ["*approve*", "approve"],
    ["yes\n\nKind regards,\nA. Lovelace\n\nSent from my phone", "approve"],
    ["Approved.\n\n-- \nAda Lovelace\nAnalytical Engines, +44 20 7946 0000", "approve"],
    ["ok\n\nOn Sunday, Deploy assistant <\ndeploy+x@localhost> wrote:\n> Hello Ada,\n\nThanks!", "approve"],
    ["Yes, go ahead!", "approve"],
    ["Yes\n-- \nAda Lovelace | Head of Engines\nada@example.com\nhttps://example.com", "approve"],
    ["Yes\n\n-----Original Message-----\nFrom: x\na plan\n[reply-token: abc]", "approve"],
    ["I approve this plan.", "approve"],
    ["Approved, please proceed with the deployment.", "approve"],
    ["Looks good to me. Ship it.", "approve"],
    ["reject", "reject"],
    ["Reject: there is a freeze until Monday", "reject"],
    ["No.", "reject"],
    ["Stop!", "reject"],
    ["Don’t deploy", "reject"],
    ["cancel, please", "reject"],
  ])("%j is %s", (body, kind) => {
    expect(decide(body, from).kind).toBe(kind);
  });

  test.each([
    "yes, but on production",
    "Approve\n\nbut use 1.1.0",
    "approve 1.1.0 instead",
    "approve the plan and the other one",
    "yes go to production",
    "ok, deploy it tomorrow",
    "Approved. Wait for Bob first.\n",
    "ok\n\nnot before noon",
    "no, take 1.1.0",
    "No\n\n1.1.0 instead please",
    "Is that the one with the evening tides?",
    "disapprove",
    "I do not approve",
    "approve or reject, I do not care",
    "",
    "> approve",
    "&gt; approve",
    "-- \napprove",
    "On Sunday somebody wrote:\napprove",
    // A yes with more behind it is a question back, wherever it stands.
    "yes\n\nProduction",
    "yes\n\nAnd 2.0.0 on production, too.",
    "Approved\n\nRun the migration by hand afterwards.",
    "yes\n\nBob",
    "yes\n\nOn Sunday, Deploy assistant wrote:\n> Hello Ada,\n> a plan\n\nTomorrow, please.",
    "yes\n> a plan\n> [reply-token: abc]\nTomorrow, please.",
    "yes\n\n-----Original Message-----\na plan\n[reply-token: abc]\nTomorrow, please.",
    "yes\n\n-- \nWait for Monday",
    "yes\n\n-- \nAnd on production as well",
    "yes. Thanks for asking Bob",
    // An approval that is taken back, wherever that stands.
    "Approved\n\nOn second thought, cancel this <please>",
    "Approved\n\nOn second thought <no>",
    "Yes\n-- \nNo, stop",
    "Yes\n-- \nNo",
    "Yes\n-- \nStop",
    "Yes\n-- \nCancel That",
    "Yes\n-- \nAda Lovelace\nplease hold this",
    "Yes\n-- \nAda Lovelace\nI was wrong about it",
    "Yes\n-- \nSorry, Tomorrow",
    "Yes\n-- \nmind the freeze",
    "Yes\n\nOn reflection I wrote:\nno, stop this",
    "Yes\n\n-----Original Message-----\nNo, stop",
    "Yes\n\n________________\nplease cancel",
    "Yes\n\nFrom: me@example.com\nI changed my mind",
    "Approved\n\nOn Monday I reject it <ada@example.com",
    "Yes\n\nNo",
    "Yes\n\nstop",
    "Yes?\n",
    "Yes…\nor no",
    "Yes\u200b no",
  ])("%j is not a yes", (body) => {
    expect(decide(body, from).kind).not.toBe("approve");
  });
});

describe("own words", () => {
  test.each([
    [
      "approve\r\n\r\nOn Sun, 15 Nov 2026 at 09:00, Deploy assistant <deploy@localhost> wrote:\r\n> reject",
      "approve",
    ],
    ["approve\n\n-----Original Message-----\nFrom: x", "approve"],
    ["approve\n________________________________\nFrom: Deploy", "approve"],
    ["approve\nFrom: Deploy <deploy@localhost>\nSent: now", "approve"],
    ["first\n> quoted\nsecond", "first\nsecond"],
    ["text\n[reply-token: abc]\nmore", "text"],
    ["", ""],
  ])("%j", (body, own) => {
    expect(ownWords(body)).toBe(own);
  });

  test("a text made to be slow is not, and comes out short", () => {
    const texts = [
      "On ".repeat(300_000),
      `On${" wrote: ".repeat(100_000)}x`,
      " ".repeat(1_000_000),
      "_".repeat(1_000_000),
    ];
    for (const text of [...texts, "-".repeat(1_000_000), "a\n\n\n".repeat(250_000)])
      expect(decide(text).text.length).toBeLessThanOrEqual(8_000);
  });
});
