import assert from "node:assert/strict";
import { test } from "node:test";
import { untilBlocked } from "../../../../test/support/blocked.ts";
import { onPostgres } from "../../../../test/support/databases.ts";
import { createGroupCommitter } from "../../../store/index.ts";
import { outboundMigrations } from "../migrations.ts";
import { createClaimsTable } from "./claims-table.ts";
import type { OutboundTables, RecipientRow } from "./migrations.ts";

const NOW = 1_000_000;

const recipient: RecipientRow = {
  id: "r1",
  message_id: "m1",
  account_id: "a",
  rcpt: "b@there.example",
  mail_from: null,
  domain: "there.example",
  destination: "there.example",
  siblings: 0,
  notify: null,
  orcpt: null,
  state: "failed",
  attempts: 1,
  next_try: null,
  token: null,
  lease_until: null,
  reply_code: 550,
  reply_enhanced: null,
  reply_text: null,
  host: null,
  tell_at: NOW - 1,
  created_at: 0,
  expires_at: 2 * NOW,
  finished_at: NOW - 1,
};

onPostgres((engine) => {
  /** Runs `work` on a row with an uncommitted change by another process, so that it waits for the commit. */
  async function meet<Result>(
    t: Parameters<typeof engine.open>[0] & { after(end: () => Promise<void>): void },
    row: Partial<RecipientRow>,
    change: Partial<RecipientRow>,
    work: (claims: ReturnType<typeof createClaimsTable>) => Promise<Result>,
  ) {
    const { db, another } = await engine.open(t, outboundMigrations);
    await db
      .tables<OutboundTables>()
      .insertInto("outbound_recipients")
      .values({ ...recipient, ...row })
      .execute();
    const second = await another();
    let working: Promise<Result> | undefined;
    await db.transaction<OutboundTables, void>(async (tx) => {
      await tx.updateTable("outbound_recipients").set(change).where("id", "=", "r1").execute();
      working = work(createClaimsTable(second, createGroupCommitter(second)));
      await untilBlocked(db);
    });
    return working!;
  }

  test("does not report a failure that another process reports concurrently", async (t) => {
    assert.deepEqual(
      await meet(t, {}, { tell_at: NOW + 60_000 }, (claims) => claims.unreported(NOW, NOW + 60_000)),
      [],
    );
  });

  test("does not recover a recipient whose lease is renewed concurrently", async (t) => {
    const delivering: Partial<RecipientRow> = {
      state: "delivering",
      token: "t",
      lease_until: NOW - 1,
      tell_at: null,
      finished_at: null,
    };
    assert.deepEqual(await meet(t, delivering, { lease_until: NOW + 60_000 }, (claims) => claims.recover(NOW)), []);
  });

  test("does not expire a recipient that is claimed concurrently", async (t) => {
    const waiting: Partial<RecipientRow> = {
      state: "deferred",
      next_try: NOW - 1,
      expires_at: NOW - 1,
      tell_at: null,
      finished_at: null,
    };
    assert.deepEqual(
      await meet(t, waiting, { state: "delivering", next_try: null, token: "t", lease_until: NOW + 60_000 }, (claims) =>
        claims.expire(NOW, NOW),
      ),
      [],
    );
  });
});
