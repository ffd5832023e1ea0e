import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { until } from "../support/mail-world.ts";
import { createS3Client, onS3, openBucket, startPrivateS3 } from "../support/radosgw.ts";

const SUPPORT = join(import.meta.dirname, "../support/radosgw.ts");

onS3(() => {
  test("the S3 server stops and its folder is removed when the process that started it is killed", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "rp-kill-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const program = `const { startPrivateS3 } = await import(${JSON.stringify(SUPPORT)});
      console.log(new URL((await startPrivateS3()).endpoint).port); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.kill("SIGKILL"));
    const [port] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    assert.equal(readdirSync(folder).length, 1);
    child.kill("SIGKILL");
    await until(() => readdirSync(folder).length === 0, "the removal of the folder");
    const [refused] = (await once(connect({ host: "127.0.0.1", port: Number(port) }), "error")) as [
      NodeJS.ErrnoException,
    ];
    assert.equal(refused.code, "ECONNREFUSED");
  });

  test("objects survive a kill and restart of the S3 server", async (t) => {
    const server = await startPrivateS3();
    t.after(() => server.stop());
    const { bucket: Bucket } = await openBucket(t, server);
    const client = createS3Client(server);
    t.after(() => client.destroy());
    await client.send(new PutObjectCommand({ Bucket, Key: "a", Body: "bytes" }));
    await server.kill();
    await assert.rejects(client.send(new GetObjectCommand({ Bucket, Key: "a" })));
    await server.restart();
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: "a" }));
    assert.equal(await Body!.transformToString(), "bytes");
  });
});
