import assert from "node:assert/strict";
import { test } from "node:test";
import type { MigrationPlan, Report } from "../../migrate/index.ts";
import { planLines, positionText, reportLines } from "./print-plan.ts";

const paint = (_format: unknown, text: string) => text;
const text = (lines: string[]) => lines.map((line) => line.trimEnd()).join("\n");

test("a plan shows counts, then what needs attention, grouped by reason", () => {
  const loss = "the source does not return the uploaded file: its MP4 download is imported instead";
  const plan: MigrationPlan = {
    keepsIds: false,
    items: [
      { kind: "zone", key: "1", name: "a.example", action: "unchanged", losses: ["not shown"] },
      { kind: "video", key: "2", name: "one", action: "new", losses: [loss] },
      { kind: "video", key: "3", name: "two", action: "new", losses: [loss] },
      { kind: "routing rule", key: "4", name: "x\u001b[31m", action: "impossible", reason: "it has 2 actions" },
    ],
  };
  assert.equal(
    text(planLines(plan, paint)),
    `              new  changed  unchanged  kept  impossible
zone                        1
video         2
routing rule                                 1

IDs will change: the API token lacks the Account Settings Write permission on the operator's account.

Cannot be imported:
  routing rule: it has 2 actions
    x\\x1b[31m

Imported in part:
  video: ${loss}
    one, two`,
  );
});

test("a report lists the results, the secrets to enter, new credentials and DNS changes", () => {
  const report: Report = {
    imported: { zone: 1, "suppressed address": 3 },
    failed: [{ kind: "zone", name: "b.example", reason: "refused" }],
    warnings: [],
    followUp: {
      secrets: [{ worker: "mailer", names: ["A", "B"] }],
      credentials: [{ what: "secret of the webhook", value: "v" }],
      dns: [{ zone: "a.example", steps: ["one", "two"] }],
    },
  };
  assert.equal(
    text(reportLines(report, paint)),
    `imported            count
zone                1
suppressed address  3

Failed; run the command again to retry:
  zone b.example: refused

Secrets to enter:
  reelpost secret put A --name mailer
  reelpost secret put B --name mailer

New credentials, shown only once:
  secret of the webhook: v

DNS changes for a.example, in this order:
  1. one
  2. two`,
  );
});

test("the progress line shows the remaining time in seconds or minutes", () => {
  const item = { kind: "video", key: "", name: "talk", action: "new" } as const;
  assert.deepEqual(
    [undefined, 7, 200].map((secondsLeft) => positionText({ done: 1, total: 5, item, secondsLeft })),
    ["2 of 5: video talk", "2 of 5, 7 s left: video talk", "2 of 5, 4 min left: video talk"],
  );
});
