import type { Scope, TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import type { TraceEvent } from "../messages/index.ts";
import { createActivity, type ActivityOptions } from "./activity.ts";
import { activityMigrations } from "./entries-table.ts";

export const ACCOUNT = "a".repeat(32);
export const OTHER_ACCOUNT = "e".repeat(32);
export const ZONE = "b".repeat(32);
export const START = Date.UTC(2026, 10, 21, 12, 0, 0);
const MINUTE = 60_000;

/** Opens a log on an empty database, where `here.example` is a zone of ACCOUNT. */
export async function openActivity(scope: Scope, engine: TestEngine, options: Partial<ActivityOptions> = {}) {
  const { db, another } = await engine.open(scope, activityMigrations);
  const clock = createManualClock(START);
  const all = {
    clock,
    log: silentLog,
    ownerOf: async (domain: string) => (domain === "here.example" ? { account: ACCOUNT, zone: ZONE } : undefined),
    ...options,
  };
  const activity = createActivity({ db, ...all });
  scope.after(() => activity.close());

  function step(
    to: Pick<typeof activity, "trace">,
    message: string,
    name: TraceEvent["step"],
    detail: TraceEvent["detail"] = {},
    more: Partial<TraceEvent> = {},
  ) {
    to.trace({ message, at: new Date(clock.now()), step: name, detail, ...more });
    clock.advance(1);
  }
  const recordStep = (
    message: string,
    name: TraceEvent["step"],
    detail?: TraceEvent["detail"],
    more?: Partial<TraceEvent>,
  ) => step(activity, message, name, detail, more);

  return {
    db,
    clock,
    activity,
    recordStep,
    step,
    /** Opens the same log as seen by another process. */
    async second() {
      const second = createActivity({ db: await another(), ...all });
      scope.after(() => second.close());
      return second;
    },
    /** Returns a message that was forwarded through the queue, `minutes` after the start. */
    forwarded(n: number, { minutes = n, outcome = "delivered" as "delivered" | "bounced" | "waits" } = {}) {
      clock.advance(Math.max(0, START + minutes * MINUTE - clock.now()));
      const [message, rcpt, messageId] = [
        String(n).padStart(32, "0"),
        `box${n}@here.example`,
        `<copy-${n}@here.example>`,
      ];
      recordStep(message, "received", {
        from: `sender${n}@there.example`,
        to: [rcpt],
        size: 1000 + n,
        ip: "192.0.2.1",
        subject: `Message ${n}`,
        messageId: `<in-${n}@there.example>`,
      });
      recordStep(message, "authenticated", {
        spf: "pass",
        dkim: "none",
        dmarc: n % 2 === 0 ? "pass" : "none",
        arc: "none",
        accept: true,
      });
      recordStep(
        message,
        "matched",
        {
          kind: "forward",
          to: ["me@else.example"],
          why: "literal",
          zone: ZONE,
          account: ACCOUNT,
          rule: { id: `rule-${n % 2}`, name: "" },
        },
        { rcpt },
      );
      recordStep(
        message,
        "queued",
        { outbound: `out-${n}`, messageId, to: "me@else.example", cause: "forward" },
        { rcpt },
      );
      if (outcome === "delivered")
        recordStep(
          message,
          "delivered",
          {
            outbound: `out-${n}`,
            messageId,
            to: "me@else.example",
            code: 250,
            enhanced: "2.0.0",
            text: "Ok",
            host: "mx.else.example",
            attempts: 1,
          },
          { rcpt },
        );
      if (outcome === "bounced")
        recordStep(
          message,
          "bounced",
          {
            outbound: `out-${n}`,
            messageId,
            to: "me@else.example",
            code: 550,
            enhanced: "5.1.1",
            text: "no such user",
            host: "mx.else.example",
            attempts: 1,
          },
          { rcpt },
        );
      return message;
    },
  };
}
