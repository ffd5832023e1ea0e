import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FirstProcessUnavailable } from "../../kernel/first-process.ts";
import { silentLog } from "../../kernel/index.ts";
import { connectToFirstProcess, listenForCalls } from "./first-process.ts";

function createFolder(t: TestContext, ...names: string[]): string {
  const root = mkdtempSync(join(tmpdir(), "reelpost-first-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, ...names);
  mkdirSync(folder, { recursive: true });
  return folder;
}

test("a caller waits for the first process, even in a folder whose path is too long for a socket", async (t) => {
  const folder = createFolder(t, "a".repeat(120));
  const first = connectToFirstProcess(folder);
  t.after(() => first.close());
  const opened = first.connect("echo", { text: "é" });
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
  const first = connectToFirstProcess(createFolder(t), { waitMs: 60 });
  t.after(() => first.close());
  await assert.rejects(first.connect("echo", {}), FirstProcessUnavailable);
  await assert.rejects(first.connect("echo", {}, AbortSignal.abort(new Error("stopped"))), /stopped/);
});

test("a stopping process completes the calls that it has accepted, and leaves later ones to its successor", async (t) => {
  const folder = createFolder(t);
  const first = connectToFirstProcess(folder, { waitMs: 120_000 });
  t.after(() => first.close());
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
  const running = await first.connect("wait", {});
  const stopped = old.close();
  const later = first.connect("wait", {});
  assert.equal(String((await once(running, "data"))[0]), "old");
  await stopped;
  const next = await listen("next");
  assert.equal(String((await once(await later, "data"))[0]), "next");
  assert.deepEqual(ended, ["old", "next"]);
  await next.close();
});
