import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { openR2Worker } from "./r2-workerd.testing.ts";

const MiB = 1024 * 1024;

// Each entry is one sequence of calls to the bucket; its return value is sent back as JSON.
const conversations = `
  async streamIn(bucket, request) {
    return show(await bucket.put("stream", request.body));
  },
  async streamOut(bucket, request) {
    const offset = Number(new URL(request.url).searchParams.get("offset") ?? 0);
    return new Response((await bucket.get("stream", { range: { offset } })).body);
  },
  async copy(bucket) {
    await bucket.put("copy", (await bucket.get("stream")).body);
    return show(await bucket.head("copy"));
  },
  async giveUp(bucket) {
    const reader = (await bucket.get("stream")).body.getReader();
    const { value } = await reader.read();
    await reader.cancel("enough");
    return value.byteLength > 0;
  },
  async wrongLength(bucket) {
    const send = async (announced, chunks, end) => {
      const { readable, writable } = new FixedLengthStream(announced);
      const writing = (async () => {
        const writer = writable.getWriter();
        for (const chunk of chunks) await writer.write(new Uint8Array(chunk));
        await end(writer);
      })();
      const [put, wrote] = await Promise.all([failure(bucket.put("wrong", readable)), failure(writing)]);
      return put !== "no failure" || wrote !== "no failure" ? [put, wrote] : "accepted";
    };
    return { shorter: await send(1000000, [400000, 100000], (writer) => writer.close()), longer: await send(1000000, [900000, 200000], (writer) => writer.close()), aborted: await send(1000000, [400000], (writer) => writer.abort(new Error("given up"))),
      unknown: await failure(bucket.put("wrong", new ReadableStream({ start(c) { c.enqueue(new Uint8Array(1)); c.close(); } }))), stored: await bucket.head("wrong") };
  },
  async after(bucket) {
    await bucket.put("still", "alive");
    return (await bucket.get("still")).text();
  },
`;

describe("R2 through workerd", () => {
  const { converse, fetch, blobs } = openR2Worker(conversations, ["nine", "ten"]);

  test("streams 50 MiB into R2, out of it, from inside a worker, and between buckets", async () => {
    const bytes = randomBytes(50 * MiB);
    const put = await converse("streamIn", "nine", { method: "PUT", body: bytes });
    assert.deepEqual([put.size, put.etag], [50 * MiB, createHash("md5").update(bytes).digest("hex")]);
    const read = async (offset: number) =>
      Buffer.from(await (await fetch(`/streamOut/nine?offset=${offset}`)).arrayBuffer());
    assert.ok((await read(0)).equals(bytes));
    assert.ok((await read(49 * MiB + 3)).equals(bytes.subarray(49 * MiB + 3)));
    assert.deepEqual((await converse("copy", "nine")).etag, put.etag);
    assert.equal(await converse("giveUp", "nine"), true);
    assert.equal((await blobs()).filter((key) => key.startsWith("r2/bucket-nine/")).length, 2);
  });

  test("stores nothing from a stream shorter or longer than declared, and the binding remains usable", async () => {
    const before = await blobs();
    const { shorter, longer, aborted, unknown, stored } = await converse("wrongLength", "ten");
    assert.equal(shorter[0], "TypeError: FixedLengthStream did not see all expected bytes before close().");
    assert.equal(longer[0], "TypeError: Attempt to write too many bytes through a FixedLengthStream.");
    assert.equal(aborted[0], "Error: given up");
    assert.match(unknown, /^TypeError: Provided readable stream must have a known length/);
    assert.equal(stored, null);
    assert.deepEqual(await blobs(), before);
    assert.equal(await converse("after", "ten"), "alive");
  });
});
