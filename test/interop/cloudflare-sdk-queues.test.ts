import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { all, failsWith, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

describe("cloudflare SDK: queues", () => {
  const scope = createScope();
  let platform: Platform;
  let account_id: string;
  let client: ReturnType<typeof sdk>;
  let queue: string;
  before(async () => {
    platform = await startPlatform(scope);
    account_id = platform.account;
    client = sdk(platform, { apiToken: platform.token });
  });
  after(scope.close);

  it("creates, lists, gets, edits and updates a queue", async () => {
    const made = await client.queues.create({ account_id, queue_name: "jobs" });
    queue = made.queue_id;
    assert.deepEqual(
      (await all<{ queue_name: string }>(client.queues.list({ account_id }))).map(({ queue_name }) => queue_name),
      ["jobs"],
    );
    const edited = await client.queues.edit(queue, { account_id, settings: { message_retention_period: 600 } });
    assert.equal(edited.settings.message_retention_period, 600);
    const updated = await client.queues.update(queue, { account_id, settings: { delivery_delay: 0 } });
    assert.deepEqual(updated.settings, (await client.queues.get(queue, { account_id })).settings);
  });

  it("a pull consumer receives pushed messages, acknowledges and retries them", async () => {
    const consumer = await client.queues.consumers.create(queue, { account_id, type: "http_pull" });
    assert.equal(consumer.type, "http_pull");
    assert.equal((await all(client.queues.consumers.list(queue, { account_id }))).length, 1);
    await client.queues.messages.push(queue, { account_id, body: "one", content_type: "text" });
    await client.queues.messages.bulkPush(queue, {
      account_id,
      messages: [{ body: { two: 2 }, content_type: "json" }],
    });
    const pulled = await client.queues.messages.pull(queue, {
      account_id,
      batch_size: 10,
      visibility_timeout_ms: 60_000,
    });
    const [one, two] = pulled.messages;
    assert.deepEqual([one.body, JSON.parse(Buffer.from(two.body, "base64").toString())], ["one", { two: 2 }]);
    assert.deepEqual(
      await client.queues.messages.ack(queue, {
        account_id,
        acks: [{ lease_id: one.lease_id }],
        retries: [{ lease_id: two.lease_id }],
      }),
      { ackCount: 1, retryCount: 1, warnings: {} },
    );
    const [again] = (await client.queues.messages.pull(queue, { account_id })).messages;
    assert.deepEqual([again.id, again.attempts], [two.id, 2]);
  });

  it("purges a queue, returns its metrics and deletes it, and errors have a status and a code", async () => {
    await client.queues.purge.start(queue, { account_id, delete_messages_permanently: true });
    assert.equal((await client.queues.purge.status(queue, { account_id })).completed, "true");
    assert.equal((await client.queues.getMetrics(queue, { account_id })).backlog_count, 0);
    await client.queues.delete(queue, { account_id });
    await assert.rejects(client.queues.get(queue, { account_id }), failsWith(404, 11000));
  });
});
