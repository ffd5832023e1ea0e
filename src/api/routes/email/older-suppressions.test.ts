import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { start } from "./sending-api.testing.ts";

onEveryDatabase((engine) => {
  for (const product of ["routing", "sending"])
    test(`the older ${product} suppression paths of an account and a zone return the same list`, async (t) => {
      const { call, suppressions, zone, clock } = await start(t, engine);
      const base = `/accounts/${TEST_ACCOUNT}/email/${product}/suppression`;
      const ofZone = `/zones/${zone.id}/email/${product}/suppression`;
      const made = await call("post", base, {
        body: { email: "b@there.example", expires_at: "2026-12-01T00:00:00+01:00" },
      });
      const { id } = made.body.result;
      assert.deepEqual([made.status, Object.keys(made.body.result)], [200, ["id"]]);
      clock.advance(1000);
      const second = (await call("post", ofZone, { body: { email: "a@there.example" } })).body.result;
      await suppressions.create(TEST_ACCOUNT, {
        email: "c@there.example",
        scope: { type: "sending_domain", value: "other.example" },
      });
      const one = {
        id,
        email: "b@there.example",
        reason: "manual",
        created_at: "2026-11-20T12:00:00.000Z",
        expires_at: "2026-11-30T23:00:00.000Z",
        zones: [],
      };
      assert.deepEqual((await call("get", `${base}/${id}`)).body.result, one);
      assert.deepEqual((await suppressions.get(TEST_ACCOUNT, second.id)).scope, {
        type: "sending_domain",
        value: "example.com",
      });

      const { body } = await call("get", ofZone, { query: { order: "email", direction: "asc" } });
      assert.deepEqual([body.page, body.per_page, body.total], [1, 100, 2]);
      assert.deepEqual(
        body.result.map(({ email, zones }: { email: string; zones: string[] }) => [email, zones]),
        [
          ["a@there.example", [zone.id]],
          ["b@there.example", []],
        ],
      );
      const last = (await call("get", base, { query: { page: 3, per_page: 1 } })).body;
      assert.deepEqual([last.total, last.result], [3, [one]]);
      assert.deepEqual((await call("get", base, { query: { page: 4, per_page: 1 } })).body.result, []);

      assert.equal((await call("delete", `${ofZone}/${id}`)).status, 403);
      assert.equal((await call("delete", `${ofZone}/${second.id}`)).body.success, true);
      assert.equal((await call("delete", `${base}/${id}`)).body.success, true);
      const gone = await call("get", `${base}/${id}`);
      assert.deepEqual([gone.status, gone.body], [404, { success: false, error: "Suppression not found" }]);
      const rejected = await call("post", base, { body: { email: "nobody" } });
      assert.deepEqual(
        [rejected.status, rejected.body.success, typeof rejected.body.errors[0]],
        [400, false, "string"],
      );
    });
});
