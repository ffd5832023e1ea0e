import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds } from "../../kernel/index.ts";
import { refusal } from "../routing/routing.testing.ts";
import { createSuppressions } from "./suppressions.ts";
import { suppressionsMigration } from "./suppressions-table.ts";
import type { SuppressionQuery, SuppressionRequest, Suppressions } from "./types.ts";

const [A, B] = ["a".repeat(32), "b".repeat(32)];
const HOUR = 3_600_000;

async function open(t: TestContext, engine: TestEngine) {
  const { db, another } = await engine.open(t, [suppressionsMigration]);
  const clock = createManualClock(Date.UTC(2026, 10, 20));
  return {
    clock,
    suppressions: createSuppressions({ db, clock, ids: randomIds }),
    other: async () => createSuppressions({ db: await another(), clock, ids: randomIds }),
  };
}

async function pages(
  suppressions: Suppressions,
  query: SuppressionQuery,
  perPage: number,
  account = A,
): Promise<string[][]> {
  const found: string[][] = [];
  let cursor: string | undefined;
  do {
    // The filters in the cursor override those in the request.
    const { items, next } = await suppressions.list(account, cursor === undefined ? query : {}, { cursor, perPage });
    found.push(items.map(({ email }) => email));
    cursor = next ?? undefined;
  } while (cursor !== undefined && found.length < 50);
  return found;
}

export function suppressionsConformance(engine: TestEngine): void {
  test("a suppression is created, read, changed and deleted only by its own account", async (t) => {
    const { suppressions, clock } = await open(t, engine);
    const made = await suppressions.create(A, { email: " User@Example.COM ", note: "asked for it" });
    assert.match(made.id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(made, {
      id: made.id,
      account: A,
      email: "User@Example.COM",
      scope: { type: "account" },
      reason: "manual",
      note: "asked for it",
      readOnly: false,
      createdAt: clock.now(),
      expiresAt: null,
    });
    assert.deepEqual(await suppressions.get(A, made.id), made);
    assert.deepEqual(
      await suppressions.create(A, { email: "user@example.com", note: "another" }),
      made,
      "an existing entry is returned unchanged",
    );
    assert.deepEqual(await refusal(suppressions.get(B, made.id)), ["noSuppression", "Suppression not found"]);
    assert.equal((await refusal(suppressions.delete(B, made.id)))[0], "noSuppression");
    const later = clock.now() + HOUR;
    assert.deepEqual(await suppressions.update(A, made.id, { expiresAt: later, note: "" }), {
      ...made,
      expiresAt: later,
      note: null,
    });
    assert.equal((await suppressions.update(A, made.id, { note: "x" })).expiresAt, later);
    assert.equal((await refusal(suppressions.update(A, made.id, { expiresAt: clock.now() })))[0], "badExpiry");
    assert.equal((await suppressions.delete(A, made.id)).id, made.id);
    assert.equal((await refusal(suppressions.get(A, made.id)))[0], "noSuppression");
  });

  test("invalid suppressions are rejected", async (t) => {
    const { suppressions, clock } = await open(t, engine);
    const wrong: [SuppressionRequest, string][] = [
      [{ email: "nobody" }, "badSuppressionAddress"],
      [{ email: "postmaster" }, "badSuppressionAddress"],
      [{ email: "a@[192.0.2.1]" }, "badSuppressionAddress"],
      [{ email: "a@example.com", expiresAt: clock.now() - 1 }, "badExpiry"],
      [{ email: "a@example.com", note: "n".repeat(1001) }, "noteTooLong"],
      [{ email: "a@example.com", scope: { type: "sending_domain", value: "not a domain" } }, "badScope"],
    ];
    for (const [request, kind] of wrong)
      assert.equal((await refusal(suppressions.create(A, request)))[0], kind, JSON.stringify(request));
    for (const query of [{ search: "user" }, { search: "a b@" }])
      assert.equal((await refusal(suppressions.list(A, query, { perPage: 5 })))[0], "badSearch");
    for (const cursor of [
      "",
      "x",
      "e30",
      Buffer.from('{"filter":{},"after":{"address":"a","scope":""}}').toString("base64url"),
    ])
      assert.equal((await refusal(suppressions.list(A, {}, { perPage: 5, cursor })))[0], "badCursor");
  });

  test("the list is newest first, paged by cursor, and can be filtered", async (t) => {
    const { suppressions, clock } = await open(t, engine);
    for (const [i, email] of [
      "a@one.example",
      "billing@one.example",
      "billing@two.example",
      "billing.x@one.example",
      "z@one.example",
    ].entries()) {
      // Equal times are ordered by id.
      if (i !== 3) clock.advance(1000);
      await suppressions.create(A, {
        email,
        ...(i > 2 && { scope: { type: "sending_domain", value: "news.example.com" } }),
      });
    }
    await suppressions.create(B, { email: "other@one.example" });
    await suppressions.add({
      account: A,
      email: "gone@one.example",
      reason: "hard_bounce",
      expiresAt: new Date(clock.now() + HOUR),
    });
    const all = await pages(suppressions, {}, 2);
    assert.deepEqual(
      all.map((page) => page.length),
      [2, 2, 2],
    );
    assert.deepEqual(new Set(all.flat()).size, 6);
    assert.deepEqual((await pages(suppressions, {}, 100))[0]!.slice(2), all.flat().slice(2));
    assert.deepEqual(await pages(suppressions, { search: "Billing@" }, 1), [
      ["billing@one.example"],
      ["billing@two.example"],
    ]);
    assert.deepEqual(await pages(suppressions, { search: "z@ONE.example" }, 5), [["z@one.example"]]);
    assert.deepEqual(await pages(suppressions, { email: "a@one.example", search: "z@one.example" }, 5), [[]]);
    assert.deepEqual(await pages(suppressions, { reason: "hard_bounce" }, 5), [["gone@one.example"]]);
    assert.deepEqual((await pages(suppressions, { scopeType: "sending_domain" }, 1)).flat().sort(), [
      "billing.x@one.example",
      "z@one.example",
    ]);
    assert.deepEqual(
      (
        await pages(
          suppressions,
          { scopeType: "sending_domain", scopeValue: "News.Example.com", email: "z@one.example" },
          5,
        )
      ).flat(),
      ["z@one.example"],
    );
    assert.deepEqual((await pages(suppressions, { scopeType: "account" }, 10)).flat().length, 4);
    assert.deepEqual(await pages(suppressions, {}, 5, B), [["other@one.example"]]);
  });

  test("bounces and complaints keep the latest expiry, and the most severe reason", async (t) => {
    const { suppressions, clock, other } = await open(t, engine);
    const add = async (
      reason: "soft_bounce" | "hard_bounce" | "complaint" | "policy",
      hours: number | null,
      more = {},
    ) =>
      (await other()).add({
        account: A,
        email: "User@one.example",
        reason,
        expiresAt: hours === null ? null : new Date(clock.now() + hours * HOUR),
        domain: "example.com",
        note: reason,
        ...more,
      });
    const only = async () =>
      (await suppressions.list(A, {}, { perPage: 5 })).items.map(({ reason, expiresAt, note, readOnly }) => [
        reason,
        expiresAt === null ? null : (expiresAt - Date.UTC(2026, 10, 20)) / HOUR,
        note,
        readOnly,
      ]);
    await add("soft_bounce", 24);
    assert.deepEqual(await only(), [["soft_bounce", 24, "soft_bounce", false]]);
    await add("hard_bounce", 168);
    await add("soft_bounce", 24);
    assert.deepEqual(await only(), [["hard_bounce", 168, "hard_bounce", false]]);
    await add("complaint", null);
    await add("hard_bounce", 168);
    assert.deepEqual(await only(), [["complaint", null, "complaint", false]]);
    assert.equal(await suppressions.complaints(A, "example.com", clock.now(), clock.now() + 1), 1);
    assert.equal(await suppressions.complaints(A, "example.com", clock.now() + 1, clock.now() + 2), 0);
    assert.equal(await suppressions.complaints(A, "other.example", 0, clock.now() + 2), 0);
    await add("policy", null);
    const [{ id } = { id: "" }] = (await suppressions.list(A, {}, { perPage: 5 })).items;
    for (const attempt of [
      () => suppressions.delete(A, id),
      () => suppressions.update(A, id, { note: "x" }),
      () => suppressions.create(A, { email: "user@one.example" }),
    ])
      assert.deepEqual(await refusal(attempt()), ["readOnlySuppression", "This suppression is read-only."]);
    await suppressions.add({ account: A, email: "not an address", reason: "complaint", expiresAt: null });
    assert.equal((await only()).length, 1);
  });

  test("an expired suppression no longer exists and can be created again", async (t) => {
    const { suppressions, clock } = await open(t, engine);
    const made = await suppressions.create(A, { email: "a@one.example", expiresAt: clock.now() + HOUR });
    assert.deepEqual(await suppressions.findSuppressed(A, "example.com", ["A@one.example", "b@one.example"]), [
      "A@one.example",
    ]);
    clock.advance(HOUR);
    assert.deepEqual(await suppressions.findSuppressed(A, "example.com", ["A@one.example"]), []);
    assert.equal((await refusal(suppressions.get(A, made.id)))[0], "noSuppression");
    assert.deepEqual(await pages(suppressions, {}, 5), [[]]);
    assert.notEqual(
      (await suppressions.create(A, { email: "a@one.example", expiresAt: clock.now() + HOUR })).id,
      made.id,
    );
    await suppressions.create(A, { email: "b@one.example" });
    clock.advance(HOUR);
    assert.deepEqual([await suppressions.sweep(), await suppressions.sweep()], [1, 0]);
  });

  test("a suppression applies to its account, or to one of its sending domains", async (t) => {
    const { suppressions } = await open(t, engine);
    await suppressions.create(A, {
      email: "a@one.example",
      scope: { type: "sending_domain", value: "news.example.com" },
    });
    await suppressions.create(A, { email: "b@one.example" });
    const addresses = ["a@one.example", "b@one.example", "B@ONE.example", "c@one.example", "not an address"];
    assert.deepEqual(await suppressions.findSuppressed(A, "news.example.com", addresses), [
      "a@one.example",
      "b@one.example",
      "B@ONE.example",
    ]);
    assert.deepEqual(await suppressions.findSuppressed(A, "example.com", addresses), [
      "b@one.example",
      "B@ONE.example",
    ]);
    assert.deepEqual(await suppressions.findSuppressed(B, "news.example.com", addresses), []);
    assert.deepEqual(await suppressions.findSuppressed(A, "example.com", ["nobody"]), []);
  });

  test("an import returns a result for each item", async (t) => {
    const { suppressions, clock } = await open(t, engine);
    const before = await suppressions.create(A, { email: "there@one.example" });
    await suppressions.add({ account: A, email: "policy@one.example", reason: "policy", expiresAt: null });
    const { items, ...counts } = await suppressions.bulk(A, [
      { email: "new@one.example", note: "n" },
      { email: "nobody" },
      { email: "NEW@one.example" },
      { email: "there@one.example" },
      { email: "policy@one.example" },
    ]);
    assert.deepEqual(counts, { total: 5, processed: 1, invalid: 1, errors: 1, skipped: 2, deduplicated: 1 });
    assert.deepEqual(
      items.map(({ index, status }) => [index, status]),
      [
        [0, "processed"],
        [1, "invalid"],
        [2, "skipped"],
        [3, "skipped"],
        [4, "error"],
      ],
    );
    assert.equal(items[3]!.status === "skipped" && items[3]!.id, before.id);
    assert.equal(items[0]!.status === "processed" && (await suppressions.get(A, items[0]!.id)).note, "n");

    const many = Array.from({ length: 1000 }, (_, i) => ({ email: `u${i}@many.example` }));
    assert.equal((await suppressions.bulk(A, many)).processed, 1000);
    assert.equal((await suppressions.bulk(A, many)).skipped, 1000);
    assert.deepEqual(await refusal(suppressions.bulk(A, [...many, ...many.slice(0, 1)])), [
      "tooManyItems",
      "An import can contain at most 1000 items",
    ]);
    for (let i = 3; i < 10; i++) await suppressions.bulk(A, []);
    assert.equal((await refusal(suppressions.bulk(A, [])))[0], "tooManyImports");
    await suppressions.bulk(B, []);
    clock.advance(60_000);
    await suppressions.bulk(A, []);
  });

  test("two concurrent requests for one address create one entry", async (t) => {
    const { suppressions, other } = await open(t, engine);
    const second = await other();
    const made = await Promise.all(
      [suppressions, second, suppressions, second].map((one) => one.create(A, { email: "race@one.example" })),
    );
    assert.equal(new Set(made.map(({ id }) => id)).size, 1);
  });
}
