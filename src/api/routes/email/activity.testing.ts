import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { activityMigrations, createActivity, createSentMessages } from "../../../mail/activity/index.ts";
import type { MessageContents } from "../../../mail/index.ts";
import { createMessageArchive } from "../../../mail/archive/index.ts";
import { createOutbound, outboundMigrations } from "../../../mail/outbound/index.ts";
import type { Outbound, TraceEvent } from "../../../mail/messages/index.ts";
import { migrate, openSqlite } from "../../../store/index.ts";
import { openWriteOnceObjects } from "../../../store/objects/write-once.testing.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT, TEST_ZONE } from "../../api.testing.ts";
import { activityRoutes } from "./activity.ts";
import { outboundQueueRoutes } from "./queue.ts";

/** Helpers for the tests of the log and the queue. */

/** Another account. */
export const OTHER = "9".repeat(32);
/** A zone of the account that some tokens may not read. */
export const DENIED = "8".repeat(32);
export const LOG = `/accounts/${TEST_ACCOUNT}/email/activity`;
export const QUEUE = `/accounts/${TEST_ACCOUNT}/email/queue`;

/** Starts the API with the routes of the mail log and the queue. Nothing is delivered. */
export async function startActivityApi(
  t: TestContext,
  { allowed, caller, operator = "" }: { allowed?: Permission[]; caller?: Caller; operator?: string } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-log-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...activityMigrations, ...outboundMigrations]);
  const objects = await openWriteOnceObjects({ folder: join(folder, "objects") });
  const clock = createManualClock(Date.UTC(2026, 10, 20, 12));
  const activity = createActivity({
    db,
    clock,
    log: silentLog,
    ownerOf: async (domain) =>
      domain === "here.example"
        ? { account: TEST_ACCOUNT, zone: TEST_ZONE }
        : domain === "denied.example"
          ? { account: TEST_ACCOUNT, zone: DENIED }
          : undefined,
  });
  const messages = createSentMessages({ objects, clock, log: silentLog });
  const archive = createMessageArchive({ objects, clock, log: silentLog, days: 7, maxBytes: 1_000_000 });
  const replays: unknown[] = [];
  const contents: MessageContents = {
    open: async ({ kind, message, account, at }) =>
      kind === "sending" ? messages.open(account, message) : archive.open({ account, id: message, at }),
    async replay(entry, target) {
      if ((await contents.open(entry)) === undefined) return undefined;
      replays.push([entry.id, target]);
      return { message: "c".repeat(32), outcome: "ok", rejectReason: "no", forwards: [], replies: [] };
    },
  };
  const nowhere = async () => {
    throw Object.assign(new Error("no network here"), { code: "ESERVFAIL" });
  };
  const queue = createOutbound({
    db,
    objects,
    clock,
    ids: randomIds,
    log: silentLog,
    name: "out.example",
    trace: activity.trace,
    resolver: { resolveMx: nowhere, resolve4: nowhere, resolve6: nowhere },
  });
  t.after(async () => {
    await queue.stop();
    await activity.close();
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const { call } = await startApi(t, {
    routes: [
      ...activityRoutes({
        activity,
        messages,
        messageDays: 7,
        contents,
        workerExists: async (_account, name) => name !== "missing",
        zoneAccount: async () => TEST_ACCOUNT,
        operator: async () => operator,
      }),
      ...outboundQueueRoutes({ queue, operator: async () => operator }),
    ],
    ...(caller !== undefined && { caller }),
    ...(allowed !== undefined && {
      caller: { ...unrestrictedCaller, allows: (permission: Permission) => allowed.includes(permission) },
    }),
  });
  const recordStep = (message: string, step: TraceEvent["step"], detail: TraceEvent["detail"], rcpt?: string) => {
    activity.trace({ message, at: new Date(clock.now()), step, detail, ...(rcpt !== undefined && { rcpt }) });
    clock.advance(1000);
  };
  const enqueue = (messageId: string, to: string[], more: Partial<Outbound> = {}) =>
    queue.enqueue({
      messageId,
      cause: "send",
      from: "news@here.example",
      to,
      raw: () => Buffer.from("Subject: x\r\n\r\nbody\r\n"),
      account: TEST_ACCOUNT,
      ...more,
    });
  return { call, recordStep, enqueue, activity, messages, archive, replays, clock, queue };
}

/** Resolves with a forwarded message, and a sent message that has not arrived. */
export async function recordSampleMessages({ recordStep, enqueue }: Awaited<ReturnType<typeof startActivityApi>>) {
  recordStep("m1", "received", {
    from: "a@there.example",
    to: ["box@here.example"],
    subject: "Hello",
    messageId: "<in@there.example>",
    size: 100,
    ip: "192.0.2.7",
  });
  recordStep(
    "m1",
    "delivered",
    {
      messageId: "<copy@here.example>",
      to: "me@else.example",
      cause: "forward",
      code: 250,
      enhanced: "2.0.0",
      text: "Ok",
      host: "mx.else.example",
    },
    "box@here.example",
  );
  recordStep("x", "sent", {
    from: "news@here.example",
    to: ["b@else.example"],
    messageId: "<s1@here.example>",
    subject: "News",
    via: "rest",
  });
  return enqueue("<s1@here.example>", ["b@else.example"]);
}
