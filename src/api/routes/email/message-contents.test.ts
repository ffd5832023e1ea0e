import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { LOG, startActivityApi } from "./activity.testing.ts";

const RAW = [
  "From: a@there.example",
  "Subject: Hello",
  'Content-Type: multipart/mixed; boundary="b"',
  "",
  "--b",
  "Content-Type: text/html",
  "",
  "<script>alert(1)</script>",
  "--b",
  "Content-Type: text/html",
  'Content-Disposition: attachment; filename="pagé.html"',
  "",
  "<p>attached</p>",
  "--b--",
  "",
].join("\r\n");

async function received(t: TestContext, options: Parameters<typeof startActivityApi>[1] = {}) {
  const log = await startActivityApi(t, options);
  const id = "1".repeat(32);
  log.recordStep(id, "received", {
    from: "a@there.example",
    to: ["box@here.example"],
    messageId: "<in@there.example>",
  });
  log.recordStep(id, "handled", { script: `${TEST_ACCOUNT}/inbox`, outcome: "ok" }, "box@here.example");
  const store = () =>
    log.archive.store({ id, account: TEST_ACCOUNT }, { size: RAW.length, open: () => Buffer.from(RAW) });
  await log.activity.flush();
  const entry = (await log.activity.search({ account: TEST_ACCOUNT })).items[0]!;
  return { ...log, store, path: `${LOG}/${entry.id}`, entry };
}

test("shows a stored message, raw and parsed, and its attachments", async (t) => {
  const { call, store, path } = await received(t);
  assert.equal((await call("get", path)).body.result.stored, false);
  assert.deepEqual(
    (await call("get", `${path}/content`)).body.errors.map(({ code }: { code: number }) => code),
    [10000],
  );
  await store();
  assert.equal((await call("get", path)).body.result.stored, true);
  const raw = await call("get", `${path}/raw`);
  assert.equal(raw.text, RAW);
  assert.match(raw.headers.get("content-disposition")!, /^attachment/);
  const { result } = (await call("get", `${path}/content`)).body;
  assert.deepEqual(result.headers[1], { name: "Subject", value: "Hello" });
  assert.match(result.html, /alert/);
  assert.equal(result.attachments[0].index, 0);
  const attachment = await call("get", `${path}/attachments/0`);
  assert.equal(attachment.text.trim(), "<p>attached</p>");
  // Never as HTML, which a browser would run.
  assert.equal(attachment.headers.get("content-type"), "application/octet-stream");
  assert.match(attachment.headers.get("content-security-policy")!, /sandbox/);
  for (const index of ["1", "-1", "x"]) assert.equal((await call("get", `${path}/attachments/${index}`)).status, 404);
});

test("the content of a message requires a permission for mail, not only for its statistics", async (t) => {
  const { call, store, path } = await received(t, { allowed: ["Account Analytics Read"] });
  await store();
  assert.equal((await call("get", path)).status, 200);
  for (const part of ["raw", "content", "attachments/0"])
    assert.equal((await call("get", `${path}/${part}`)).status, 403);
  assert.equal((await call("post", `${path}/replay`, { body: {} })).status, 403);
});

test("passes a stored message to a worker again", async (t) => {
  const { call, store, path, replays, entry } = await received(t);
  assert.equal((await call("post", `${path}/replay`)).status, 404);
  await store();
  const { body } = await call("post", `${path}/replay`);
  assert.deepEqual(body.result, {
    session_message_id: "c".repeat(32),
    outcome: "ok",
    exception: null,
    rejected: "no",
    forwards: [],
    replies: [],
  });
  await call("post", `${path}/replay`, { body: { worker: "other", to: "someone@here.example" } });
  assert.deepEqual(replays, [
    [entry.id, { script: `${TEST_ACCOUNT}/inbox`, to: "box@here.example" }],
    [entry.id, { script: `${TEST_ACCOUNT}/other`, to: "someone@here.example" }],
  ]);
  assert.equal((await call("post", `${path}/replay`, { body: { worker: "missing" } })).status, 404);
});
