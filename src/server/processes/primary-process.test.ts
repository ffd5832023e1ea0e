import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { PrimaryProcessUnavailable } from "../../kernel/primary-process.ts";
import { silentLog } from "../../kernel/index.ts";
import { connectToPrimaryProcess, listenForCalls } from "./primary-process.ts";

function createFolder(t: TestContext, ...names: string[]): string {
  const root = mkdtempSync(join(tmpdir(), "reelpost-primary-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, ...names);
  mkdirSync(folder, { recursive: true });
  return folder;
}

test("a caller waits for the primary process, even in a folder whose path is too long for a socket", async (t) => {
  const folder = createFolder(t, "a".repeat(120));
  const primary = connectToPrimaryProcess(folder);
  t.after(() => primary.close());
  const opened = primary.connect("echo", { text: "é" });
  const calls = await listenForCalls(
    folder,
    {
      async echo(call, connection) {
        connection.end(JSON.stringify(call));
        await once(connection, "close");
      },
    },
    { log: silentLog },
  );
  const connection = await opened;
  const received: Buffer[] = [];
  for await (const chunk of connection) received.push(chunk as Buffer);
  assert.deepEqual(JSON.parse(Buffer.concat(received).toString()), { text: "é" });
  await calls.close();
});

test("a call is rejected if no process accepts it in time, or if it is aborted", async (t) => {
  const primary = connectToPrimaryProcess(createFolder(t), { waitMs: 60 });
  t.after(() => primary.close());
  await assert.rejects(primary.connect("echo", {}), PrimaryProcessUnavailable);
  await assert.rejects(primary.connect("echo", {}, AbortSignal.abort(new Error("stopped"))), /stopped/);
});

test("a stopping process completes the calls that it has accepted, and leaves later ones to its successor", async (t) => {
  const folder = createFolder(t);
  const primary = connectToPrimaryProcess(folder, { waitMs: 120_000 });
  t.after(() => primary.close());
  const ended: string[] = [];
  const listen = (name: string) =>
    listenForCalls(
      folder,
      {
        async wait(_, connection, stopping) {
          if (name === "old") await once(stopping, "abort");
          ended.push(name);
          connection.end(name);
          await once(connection, "close");
        },
      },
      { log: silentLog, stopMs: 120_000 },
    );
  const old = await listen("old");
  const running = await primary.connect("wait", {});
  const stopped = old.close();
  const later = primary.connect("wait", {});
  assert.equal(String((await once(running, "data"))[0]), "old");
  await stopped;
  const next = await listen("next");
  assert.equal(String((await once(await later, "data"))[0]), "next");
  assert.deepEqual(ended, ["old", "next"]);
  await next.close();
});
