import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../../../test/support/databases.ts";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { start, sendingErrorOf } from "./sending-api.testing.ts";

onEveryDatabase((engine) => {
  test("suppressions are created, listed, updated and deleted with the requests of the SDK", async (t) => {
    const { call, account, suppressions } = await start(t, engine);
    const base = `${account}/suppressions`;
    const made = (
      await call("post", base, {
        body: { email: "a@there.example", expires_at: "2026-12-01T00:00:00+01:00", note: "by hand" },
      })
    ).body.result;
    const one = (await call("get", `${base}/${made.id}`)).body.result;
    assert.deepEqual(
      [made.scope, one],
      [
        { type: "account" },
        {
          id: made.id,
          email: "a@there.example",
          reason: "manual",
          created_at: "2026-11-20T12:00:00.000Z",
          expires_at: "2026-11-30T23:00:00.000Z",
          note: "by hand",
          read_only: false,
          scope: { type: "account" },
        },
      ],
    );
    assert.equal((await call("post", base, { body: { email: "A@there.example" } })).body.result.id, made.id);
    assert.deepEqual(
      (await call("patch", `${base}/${made.id}`, { body: { expires_at: null, note: "" } })).body.result,
      { ...one, expires_at: null, note: null },
    );
    await call("post", base, {
      body: { email: "b@there.example", scope: { type: "sending_domain", value: "example.com" } },
    });

    const first = (await call("get", base, { query: { per_page: 1 } })).body;
    assert.deepEqual(
      [
        first.result.length,
        first.result_info.count,
        first.result_info.per_page,
        first.result_info.next_cursor === first.result_info.cursor,
      ],
      [1, 1, 1, true],
    );
    const second = (await call("get", base, { query: { per_page: 1, cursor: first.result_info.next_cursor } })).body;
    assert.deepEqual(
      [new Set([first.result[0].email, second.result[0].email]).size, second.result_info],
      [2, { count: 1, per_page: 1, next_cursor: null }],
    );
    assert.deepEqual(
      (await call("get", base, { query: { scope_type: "sending_domain", scope_value: "example.com" } })).body.result[0]
        .scope,
      { type: "sending_domain", value: "example.com" },
    );
    assert.equal(
      (await call("get", base, { query: { search: "a@", per_page: 5000 } })).body.result_info.per_page,
      1000,
    );

    const bulk = (
      await call("post", `${base}/bulk`, {
        body: {
          items: [
            { email: "c@there.example" },
            { email: 7 },
            { email: "nobody" },
            { email: "C@there.example", expires_at: null },
            { email: "a@there.example" },
          ],
        },
      })
    ).body.result;
    assert.deepEqual(
      [bulk.total, bulk.processed, bulk.invalid, bulk.errors, bulk.skipped, bulk.deduplicated],
      [5, 1, 2, 0, 2, 1],
    );
    assert.deepEqual(
      bulk.items.map(({ index, status }: { index: number; status: string }) => `${index} ${status}`),
      ["0 processed", "1 invalid", "2 invalid", "3 skipped", "4 skipped"],
    );
    assert.deepEqual((await call("delete", `${base}/${made.id}`)).body.result, {
      id: made.id,
      scope: { type: "account" },
    });

    await suppressions.add({ account: TEST_ACCOUNT, email: "policy@there.example", reason: "policy", expiresAt: null });
    const [policy] = (await call("get", base, { query: { reason: "policy" } })).body.result;
    assert.equal(policy.read_only, true);
    for (const [method, path, options, expected] of [
      ["get", `${base}/${made.id}`, {}, [404, 2920, "Suppression not found"]],
      ["delete", `${base}/${made.id}`, {}, [404, 2920, "Suppression not found"]],
      ["delete", `${base}/${policy.id}`, {}, [403, 2921, "This suppression is read-only."]],
      ["patch", `${base}/${policy.id}`, { body: { note: "x" } }, [403, 2921, "This suppression is read-only."]],
      ["post", base, { body: { email: "policy@there.example" } }, [403, 2921, "This suppression is read-only."]],
      ["post", base, { body: { email: "nobody" } }, [400, 2922, '"nobody" is not an email address']],
      [
        "post",
        base,
        { body: { email: "x@there.example", expires_at: "2020-01-01T00:00:00Z" } },
        [400, 2923, "expires_at is not in the future"],
      ],
      [
        "post",
        base,
        { body: { email: "x@there.example", scope: { type: "sending_domain", value: "-" } } },
        [400, 2924, '"-" is not a domain'],
      ],
      [
        "post",
        base,
        { body: { email: "x@there.example", note: "n".repeat(1001) } },
        [400, 2925, "A note can have at most 1000 characters"],
      ],
      ["patch", `${base}/${policy.id}`, { body: {} }, [400, 2926, "No updatable fields supplied."]],
      [
        "patch",
        `${base}/${policy.id}`,
        { body: { scope: { type: "account" }, note: "x" } },
        [400, 2927, "scope_immutable"],
      ],
      ["get", base, { query: { search: "user" } }, [400, 2928, 'Invalid search: "user"']],
      ["get", base, { query: { cursor: "x" } }, [400, 2929, "The cursor does not belong to this list"]],
      [
        "post",
        `${base}/bulk`,
        { body: { items: Array.from({ length: 1001 }, () => ({})) } },
        [400, 2930, "An import can contain at most 1000 items"],
      ],
    ] as const)
      assert.deepEqual(sendingErrorOf(await call(method, path, options)), expected, `${method} ${path}`);
    assert.deepEqual(
      (await call("post", base, { body: {} })).body.result,
      {},
      "the result is an object, as published for this response",
    );
    for (let i = 1; i < 10; i++) await call("post", `${base}/bulk`, { body: { items: [] } });
    const limited = await call("post", `${base}/bulk`, { body: { items: [] } });
    assert.deepEqual(
      [sendingErrorOf(limited), limited.headers.get("retry-after")],
      [[429, 2931, "Rate limited."], "60"],
    );
  });
});
