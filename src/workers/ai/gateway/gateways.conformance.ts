import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, randomIds, type UserError } from "../../../kernel/index.ts";
import { createAiGateways, defaultAiGatewaySettings } from "./gateways.ts";
import { aiGatewayLimits } from "./limits.ts";
import type { AiGatewayLog, AiGatewaySettings } from "./port.ts";
import { aiGatewayMigrations } from "./schema.ts";

const ACCOUNT_A = "a".repeat(32);
const ACCOUNT_B = "b".repeat(32);
const CACHE_ENTRIES = 5;
const FIRST_PAGE = { page: 1, perPage: 100 };
const settings = (fields: Partial<AiGatewaySettings> = {}) => ({ ...defaultAiGatewaySettings, ...fields });
const rejectedWith = (kind: string) => (error: UserError) => {
  if (error.kind !== kind) throw error;
  return true;
};

const log = (fields: Partial<AiGatewayLog> = {}): AiGatewayLog => ({
  id: randomIds.hex(),
  createdAt: new Date(0),
  provider: "openai",
  model: "m",
  path: "chat/completions",
  duration: 12,
  status: 200,
  success: true,
  cached: false,
  tokensIn: 3,
  tokensOut: null,
  requestType: "application/json",
  requestSize: 2,
  responseType: "application/json",
  responseSize: 2,
  requestHead: "{}\0\ud800",
  requestComplete: true,
  responseHead: "{}",
  responseComplete: true,
  step: 0,
  metadata: null,
  feedback: null,
  score: null,
  ...fields,
});

/** Behavior of the gateways on every database engine. */
export function aiGatewaysConformance(engine: TestEngine): void {
  async function start(t: TestContext) {
    const database = await engine.open({ after: (end) => void t.after(end) }, aiGatewayMigrations);
    const clock = createManualClock(1_800_000_000_000);
    return { database, clock, gateways: createAiGateways({ db: database.db, clock, cacheEntries: CACHE_ENTRIES }) };
  }

  describe("AI gateways", () => {
    test("belong to one account and have unique ids", async (t) => {
      const { gateways, clock } = await start(t);
      const created = await gateways.create(ACCOUNT_A, "one", settings({ cacheTtl: 60 }));
      assert.deepEqual([created.cacheTtl, created.createdAt.getTime()], [60, clock.now()]);
      assert.deepEqual(await gateways.get(ACCOUNT_A, "one"), created);
      await assert.rejects(gateways.create(ACCOUNT_A, "one", settings()), rejectedWith("gatewayExists"));
      await gateways.create(ACCOUNT_B, "one", settings());
      await assert.rejects(gateways.get(ACCOUNT_B, "two"), rejectedWith("gatewayMissing"));
      await gateways.create(ACCOUNT_A, "another", settings());
      const ids = async (search?: string) =>
        (await gateways.list(ACCOUNT_A, FIRST_PAGE, search)).items.map(({ id }) => id);
      assert.deepEqual([await ids(), await ids("no")], [["another", "one"], ["another"]]);
      for (const id of ["", "a b", "é", "a/b", "x".repeat(65)])
        await assert.rejects(gateways.create(ACCOUNT_A, id, settings()), rejectedWith("badSetting"));
      for (let n = 2; n < aiGatewayLimits.gatewaysPerAccount; n++)
        await gateways.create(ACCOUNT_A, `g${n}`, settings());
      await assert.rejects(gateways.create(ACCOUNT_A, "more", settings()), rejectedWith("tooManyGateways"));
    });

    test("reject settings that are out of range", async (t) => {
      const { gateways } = await start(t);
      for (const bad of [
        { cacheTtl: -1 },
        { cacheTtl: 1.5 },
        { logLimit: 0 },
        { logLimit: aiGatewayLimits.logsPerGateway + 1 },
        { rateLimit: 1 },
      ])
        await assert.rejects(gateways.create(ACCOUNT_A, "g", settings(bad)), rejectedWith("badSetting"));
    });

    test("are updated, and deleted with their logs and cached responses", async (t) => {
      const { gateways, clock } = await start(t);
      const gateway = await gateways.create(ACCOUNT_A, "g", settings());
      clock.advance(1000);
      const updated = await gateways.update(ACCOUNT_A, "g", settings({ authentication: false }));
      assert.deepEqual([updated.authentication, updated.modifiedAt.getTime()], [false, clock.now()]);
      const entry = log();
      await gateways.addLog(gateway, entry);
      await gateways.cache(gateway, "k", { status: 200, contentType: "text/plain", body: Buffer.from("x") }, 60);
      await assert.rejects(gateways.delete(ACCOUNT_B, "g"), rejectedWith("gatewayMissing"));
      assert.equal((await gateways.delete(ACCOUNT_A, "g")).id, "g");
      await assert.rejects(gateways.update(ACCOUNT_A, "g", settings()), rejectedWith("gatewayMissing"));
      await gateways.create(ACCOUNT_A, "g", settings());
      await assert.rejects(gateways.log(ACCOUNT_A, "g", entry.id), rejectedWith("logMissing"));
      assert.equal(await gateways.cached(gateway, "k"), undefined);
    });
  });

  describe("logs of an AI gateway", () => {
    test("are listed (newest first, with filters), updated and deleted", async (t) => {
      const { gateways } = await start(t);
      const gateway = await gateways.create(ACCOUNT_A, "g", settings());
      const entries = [
        log({ createdAt: new Date(1) }),
        log({ createdAt: new Date(2), success: false, status: 500 }),
        log({ createdAt: new Date(3), cached: true, provider: "groq", model: "x\0" }),
      ];
      for (const entry of entries) await gateways.addLog(gateway, entry);
      const ids = entries.map(({ id }) => id);
      const found = async (filter: Parameters<typeof gateways.logs>[3] = {}) =>
        (await gateways.logs(ACCOUNT_A, "g", FIRST_PAGE, filter)).items.map(({ id }) => ids.indexOf(id));
      assert.deepEqual(
        [await found(), await found({ direction: "asc" })],
        [
          [2, 1, 0],
          [0, 1, 2],
        ],
      );
      assert.deepEqual([await found({ success: false }), await found({ cached: false })], [[1], [1, 0]]);
      assert.deepEqual([await found({ provider: "groq" }), await found({ model: "m" })], [[2], [1, 0]]);
      const page = await gateways.logs(ACCOUNT_A, "g", { page: 2, perPage: 2 });
      assert.deepEqual([page.items.length, page.total], [1, 3]);

      assert.deepEqual(await gateways.log(ACCOUNT_A, "g", ids[0]!), {
        ...entries[0],
        requestHead: JSON.parse(JSON.stringify(entries[0]!.requestHead)),
      });
      await gateways.patchLog(ACCOUNT_A, "g", ids[0]!, { feedback: 1, metadata: { user: "ada" } });
      await gateways.patchLog(ACCOUNT_A, "g", ids[0]!, { score: 80 });
      const { feedback, metadata, score } = await gateways.log(ACCOUNT_A, "g", ids[0]!);
      assert.deepEqual([feedback, metadata, score], [1, { user: "ada" }, 80]);
      const tooLong = { metadata: { text: "x".repeat(3000) } };
      await assert.rejects(gateways.patchLog(ACCOUNT_A, "g", ids[0]!, tooLong), rejectedWith("badSetting"));
      await assert.rejects(gateways.patchLog(ACCOUNT_B, "g", ids[0]!, { score: 1 }), rejectedWith("logMissing"));

      await gateways.deleteLogs(ACCOUNT_A, "g", { direction: "asc" }, 1);
      assert.deepEqual(await found(), [2, 1]);
      await gateways.deleteLogs(ACCOUNT_A, "g", { success: false });
      assert.deepEqual(await found(), [2]);
    });

    test("are limited in number: the oldest are deleted, or new ones are dropped", async (t) => {
      const { gateways } = await start(t);
      for (const [logStrategy, kept] of [
        ["DELETE_OLDEST", [4, 3]],
        ["STOP_INSERTING", [1, 0]],
      ] as const) {
        const gateway = await gateways.create(ACCOUNT_A, logStrategy, settings({ logLimit: 2, logStrategy }));
        for (let n = 0; n < 5; n++) await gateways.addLog(gateway, log({ createdAt: new Date(n) }));
        const { items } = await gateways.logs(ACCOUNT_A, logStrategy, FIRST_PAGE);
        assert.deepEqual(
          items.map(({ createdAt }) => createdAt.getTime()),
          kept,
        );
      }
    });
  });

  describe("the cache of an AI gateway", () => {
    const response = (text: string) => ({ status: 200, contentType: "text/plain", body: Buffer.from(text) });

    test("keeps a response for its lifetime, for one gateway of one account", async (t) => {
      const { gateways, clock } = await start(t);
      const gateway = await gateways.create(ACCOUNT_A, "g", settings());
      await gateways.cache(gateway, "k", response("\0one"), 60);
      await gateways.cache(gateway, "k", response("\0two"), 60);
      const found = await gateways.cached(gateway, "k");
      assert.deepEqual([found!.status, Buffer.from(found!.body).toString()], [200, "\0two"]);
      assert.equal(await gateways.cached({ account: ACCOUNT_A, id: "other" }, "k"), undefined);
      assert.equal(await gateways.cached({ account: ACCOUNT_B, id: "g" }, "k"), undefined);
      clock.advance(60_000);
      assert.equal(await gateways.cached(gateway, "k"), undefined);
      await gateways.sweep();
    });

    test("is emptied by an update if the gateway has that setting", async (t) => {
      const { gateways } = await start(t);
      for (const cacheInvalidateOnUpdate of [false, true]) {
        const id = String(cacheInvalidateOnUpdate);
        const gateway = await gateways.create(ACCOUNT_A, id, settings({ cacheInvalidateOnUpdate }));
        await gateways.cache(gateway, "k", response("x"), 60);
        await gateways.update(ACCOUNT_A, id, settings({ cacheInvalidateOnUpdate }));
        assert.equal((await gateways.cached(gateway, "k")) === undefined, cacheInvalidateOnUpdate);
      }
    });

    test("is limited for all gateways of an account: responses that expire first are evicted", async (t) => {
      const { gateways } = await start(t);
      const [one, two] = await Promise.all(["one", "two"].map((id) => gateways.create(ACCOUNT_A, id, settings())));
      await gateways.cache(one!, "short", response("x"), 10);
      for (let n = 1; n < CACHE_ENTRIES; n++) await gateways.cache(two!, `k${n}`, response("x"), 60);
      assert.notEqual(await gateways.cached(one!, "short"), undefined);
      await gateways.cache(two!, "new", response("x"), 5);
      assert.equal(await gateways.cached(one!, "short"), undefined);
      assert.notEqual(await gateways.cached(two!, "new"), undefined);
    });
  });
}
