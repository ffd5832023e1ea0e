import assert from "node:assert/strict";
import { test } from "node:test";
import { TEST_ACCOUNT, TEST_ZONE } from "../../api.testing.ts";
import { OTHER, QUEUE, recordSampleMessages, startActivityApi } from "./activity.testing.ts";

test("lists, shows, cancels and retries only the account's own queued messages", async (t) => {
  const all = await startActivityApi(t);
  const { call, enqueue, clock } = all;
  const { id } = await recordSampleMessages(all);
  clock.advance(1000);
  const more = await enqueue("<s2@here.example>", ["c@far.example", "d@far.example"], {
    cause: "forward",
    script: `${TEST_ACCOUNT}/inbox`,
    zone: TEST_ZONE,
  });
  const theirs = await enqueue("<s3@their.example>", ["x@else.example"], { account: OTHER });
  const nobodys = await enqueue("<s4@platform.example>", ["x@else.example"], { account: undefined as never });

  const { body } = await call("get", QUEUE);
  assert.deepEqual(
    body.result.map((one: Record<string, unknown>) => [one["id"], one["to"], one["state"]]).sort(),
    [
      [id, "b@else.example", "queued"],
      [more.id, "c@far.example", "queued"],
      [more.id, "d@far.example", "queued"],
    ].sort(),
  );
  const listed = body.result.find((one: { to: string }) => one.to === "c@far.example");
  assert.deepEqual(listed, {
    id: more.id,
    zone_id: TEST_ZONE,
    cause: "forward",
    from: "news@here.example",
    message_id: "<s2@here.example>",
    worker: "inbox",
    size: 20,
    can_resend: true,
    created: new Date(clock.now()).toISOString(),
    platform: false,
    to: "c@far.example",
    state: "queued",
    attempts: 0,
    next_attempt: new Date(clock.now()).toISOString(),
    paused_until: null,
    paused_because: null,
    host: null,
    code: null,
    enhanced_code: null,
    response: null,
    finished: null,
  });
  const page = (await call("get", QUEUE, { query: { per_page: 2 } })).body;
  const rest = (await call("get", QUEUE, { query: { per_page: 2, cursor: page.result_info.cursor } })).body;
  assert.deepEqual([page.result.length, rest.result.length, rest.result_info.next_cursor], [2, 1, null]);
  assert.equal((await call("get", QUEUE, { query: { domain: "FAR.example" } })).body.result.length, 2);
  assert.equal((await call("get", QUEUE, { query: { state: "failed" } })).body.result.length, 0);
  for (const cursor of ["x", "1-2", "9999999999999999999-0"])
    assert.equal((await call("get", QUEUE, { query: { cursor } })).status, 400);

  const gone = (await call("post", `${QUEUE}/${more.id}/cancel`)).body.result;
  assert.deepEqual(gone.recipients.map(({ to, state, code }: Record<string, unknown>) => [to, state, code]).sort(), [
    ["c@far.example", "failed", 554],
    ["d@far.example", "failed", 554],
  ]);
  const again = (await call("post", `${QUEUE}/${more.id}/resend`)).body.result;
  assert.deepEqual(
    again.recipients.map(({ state }: { state: string }) => state),
    ["deferred", "deferred"],
  );
  assert.equal((await call("get", `${QUEUE}/${id}`)).body.result.message_id, "<s1@here.example>");
  const failed = (await all.activity.search({ account: TEST_ACCOUNT, status: "deliveryFailed" })).items;
  assert.deepEqual(
    failed.map(({ to, errorCause }) => [to, errorCause]).sort(),
    [
      ["c@far.example", "5.0.0"],
      ["d@far.example", "5.0.0"],
    ],
    "failed recipients are logged",
  );

  for (const other of [theirs.id, nobodys.id, "0".repeat(32)]) {
    for (const [method, path] of [
      ["get", ""],
      ["post", "/resend"],
      ["post", "/cancel"],
    ] as const)
      assert.equal((await call(method, `${QUEUE}/${other}${path}`)).status, 404, path);
  }
  assert.deepEqual((await call("get", QUEUE, { query: { platform: "true" } })).body.result, []);
});

test("shows the operator queued messages that belong to no account", async (t) => {
  const { call, enqueue } = await startActivityApi(t, { operator: TEST_ACCOUNT });
  const { id } = await enqueue("<s4@platform.example>", ["x@else.example"], { account: undefined as never });
  assert.deepEqual((await call("get", QUEUE)).body.result, []);
  assert.deepEqual(
    (await call("get", QUEUE, { query: { platform: "true" } })).body.result.map((one: Record<string, unknown>) => [
      one["id"],
      one["platform"],
    ]),
    [[id, true]],
  );
  assert.equal((await call("post", `${QUEUE}/${id}/cancel`)).body.result.recipients[0].state, "failed");
});
