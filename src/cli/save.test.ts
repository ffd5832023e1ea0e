import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { saveBody } from "./save.ts";

async function setUp(t: TestContext, answer: RequestListener) {
  const cwd = mkdtempSync(join(tmpdir(), "save-"));
  const server = createServer(answer);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(cwd, { recursive: true, force: true });
  });
  const counts: number[] = [];
  const save = async (file: string) =>
    saveBody(
      await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a`),
      file,
      { cwd, stdout: undefined as never },
      (octets) => void counts.push(octets),
    );
  return { cwd, save, counts };
}

test("saves a complete body under its name and leaves no temporary file", async (t) => {
  const { cwd, save, counts } = await setUp(t, (_, response) => void response.end("x".repeat(1000)));
  assert.equal(await save("a.bin"), 1000);
  assert.deepEqual(
    [readdirSync(cwd), readFileSync(join(cwd, "a.bin"), "utf8").length, counts.reduce((a, b) => a + b, 0)],
    [["a.bin"], 1000, 1000],
  );
});

test("an interrupted download keeps the existing file and leaves no temporary file", async (t) => {
  const { cwd, save } = await setUp(t, (_, response) => {
    response.writeHead(200, { "content-length": "100" }).write("half");
    setImmediate(() => response.destroy());
  });
  writeFileSync(join(cwd, "a.bin"), "before");
  await assert.rejects(save("a.bin"));
  assert.deepEqual([readdirSync(cwd), readFileSync(join(cwd, "a.bin"), "utf8")], [["a.bin"], "before"]);
});

test("reports a missing folder with the path as typed", async (t) => {
  const { save } = await setUp(t, (_, response) => void response.end("x"));
  await assert.rejects(save("absent/a.bin"), { kind: "fileUnwritable", message: /absent\/a\.bin/ });
});
