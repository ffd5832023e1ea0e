import assert from "node:assert/strict";
import { test } from "node:test";
import { readBounded } from "./body.ts";

/** Returns a request without Content-Length whose body has chunks of 100 bytes. */
const streamed = (octets: number) =>
  new Request("http://api.example/", {
    method: "POST",
    duplex: "half",
    body: new ReadableStream({
      start(controller) {
        for (let left = octets; left > 0; left -= 100) controller.enqueue(new Uint8Array(Math.min(100, left)));
        controller.close();
      },
    }),
  } as RequestInit);

test("accepts a body of exactly the limit and rejects one byte more, with or without Content-Length", async () => {
  assert.equal((await readBounded(streamed(1000), { limit: 1000 })).length, 1000);
  await assert.rejects(readBounded(streamed(1001), { limit: 1000 }), { kind: "bodyTooLarge" });
  const announced = (octets: number) =>
    new Request("http://api.example/", {
      method: "POST",
      body: new Uint8Array(octets),
      headers: { "content-length": String(octets) },
    });
  assert.equal((await readBounded(announced(1000), { limit: 1000 })).length, 1000);
  await assert.rejects(readBounded(announced(1001), { limit: 1000 }), { kind: "bodyTooLarge" });
});

test("counts every byte as it arrives", async () => {
  const counted: number[] = [];
  await readBounded(streamed(250), { limit: 1000, reserveMemory: (octets) => void counted.push(octets) });
  assert.equal(
    counted.reduce((sum, octets) => sum + octets, 0),
    250,
  );
});
