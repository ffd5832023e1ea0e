import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createTransport } from "nodemailer";
import { ids } from "../mail.testing.ts";
import { createSpool } from "../messages/index.ts";
import { listen } from "./listening.testing.ts";

test("on a full disk, replies 452 and never 250, accepts small mail, and accepts large mail again after space is freed", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-spool-full-"));
  const mounted =
    process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]).status === 0;
  t.after(() => {
    if (mounted) spawnSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const disk = createSpool({ dir: join(folder, "spool"), ids });
  let full = true;
  const noSpace = () => Promise.reject(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
  if (!mounted) t.diagnostic("cannot mount a small disk here: the test simulates the error");
  const spool = mounted
    ? disk
    : { ...disk, collect: (...args: Parameters<typeof disk.collect>) => (full ? noSpace() : disk.collect(...args)) };
  const { port, taken } = await listen(t, { spool });
  const client = createTransport({ host: "127.0.0.1", port });
  t.after(() => client.close());
  const send = (bytes: number) =>
    client.sendMail({
      envelope: { from: "a@b.example", to: "b@here.example" },
      raw: Buffer.concat([Buffer.from("A: 1\r\n\r\n"), Buffer.alloc(bytes, `${"y".repeat(62)}\r\n`)]),
    });
  const ballast = join(folder, "ballast");
  if (mounted) writeFileSync(ballast, Buffer.alloc(1_000_000));
  for (let i = 0; i < 3; i++)
    await assert.rejects(send(4_000_000), {
      response: "452 4.3.1 Insufficient storage, try again later",
    });
  assert.equal(taken.length, 0);
  if (mounted) {
    await send(10_000);
    rmSync(ballast);
    assert.equal(statfsSync(folder).bfree, statfsSync(folder).blocks, "no files of rejected messages remain");
  }
  full = false;
  await send(1_000_000);
  assert.equal(taken.length, mounted ? 2 : 1);
});
