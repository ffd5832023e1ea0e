import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { createSpools } from "./spool.ts";

test("returns the collected bytes, from memory or from a file, and removes the file", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-spool-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  const create = createSpools(() => join(folder, String(++files)), 400_000);
  const bytes = randomBytes(2_000_000);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 0, max: 300_000 }), { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
      async (parts) => {
        const [spool, other] = [create(), create()];
        await other.write(bytes.subarray(0, 300_000));
        for (const sizes of parts) {
          let end = 0;
          for (const size of sizes) {
            const reused = Buffer.from(bytes.subarray(end, (end += size)));
            await spool.write(reused);
            reused.fill(0);
          }
          assert.equal(spool.size, end);
          const taken = await spool.take();
          assert.equal(Buffer.compare(taken, bytes.subarray(0, end)), 0);
          assert.equal(spool.size, 0);
          spool.recycle(taken);
        }
        assert.equal(Buffer.compare(await other.take(), bytes.subarray(0, 300_000)), 0);
        await spool.close();
        await other.close();
      },
    ),
    { numRuns: 40 },
  );
  assert.ok(files > 0, "some parts were larger than the memory");
  assert.deepEqual(readdirSync(folder), []);
});

test("reuses the memory of a part only after it has been given back", async () => {
  const create = createSpools(() => assert.fail("nothing is written to a file"));
  const spool = create();
  const part = (fill: number) => Buffer.alloc(1_000_000, fill);
  await spool.write(part(1));
  const first = await spool.take();
  await spool.write(part(2));
  const second = await spool.take();
  assert.notEqual(first.buffer, second.buffer);
  assert.equal(Buffer.compare(first, part(1)), 0);
  spool.recycle(first);
  await spool.write(part(3));
  const third = await spool.take();
  assert.equal(third.buffer, first.buffer);
  assert.equal(Buffer.compare(second, part(2)), 0);
  assert.equal(Buffer.compare(third, part(3)), 0);
});
