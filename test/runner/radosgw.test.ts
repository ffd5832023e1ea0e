import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
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
      await startPrivateS3(); console.log("started"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.kill("SIGKILL"));
    await once(createInterface({ input: child.stdout }), "line");
    const [serverFolder] = readdirSync(folder) as [string];
    // Programs whose command line contains the folder. Their port may already belong to another test.
    const programs = () =>
      globSync("/proc/[0-9]*/cmdline").filter((file) => {
        try {
          return readFileSync(file, "latin1").includes(serverFolder);
        } catch {
          // The program has just exited.
          return false;
        }
      });
    assert.ok(programs().length >= 4, "three daemons and their guard");
    child.kill("SIGKILL");
    await until(() => readdirSync(folder).length === 0, "the removal of the folder");
    await until(() => programs().length === 0, "the end of the guard and the daemons");
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
