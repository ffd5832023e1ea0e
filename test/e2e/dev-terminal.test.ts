import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../support/free-ports.ts";
import { makeProject, message, serve, spawnDev, writeProjectFile } from "./dev-bench.ts";

const WORKER = `export default {
  async email(message) {
    console.log("got", message.to);
    const gate = message.headers.get("x-gate");
    if (gate !== null) await (await fetch(gate)).text();
  },
  fetch: () => new Response("hello"),
};`;

const send = (url: string, fields: Record<string, string> = {}) =>
  fetch(`${url}/cdn-cgi/handler/email?from=ada@example.com&to=inbox@example.org`, {
    method: "POST",
    body: message(fields),
  });

/** Opens a server at which a worker waits: `reached` resolves with a function that lets the next worker continue. */
async function openGate(t: { after(stop: () => unknown): void }) {
  const server = createHttpServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close().closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/`,
    async reached(): Promise<() => void> {
      const [, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
      return () => void response.end();
    },
  };
}

describe("reelpost dev in a pipe", () => {
  it("prints one JSON object per event and nothing else", async (t) => {
    const { ready, printed, child, exited } = await spawnDev(
      t,
      await makeProject(t, { "src/index.ts": WORKER }, { vars: { A: "b" } }),
    );
    assert.match(ready.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.equal((await send(ready.url)).status, 200);
    assert.equal(await (await fetch(ready.url)).text(), "hello");
    child.kill("SIGINT");
    assert.deepEqual(await exited, { code: 0, signal: null });
    assert.deepEqual(
      printed.map(({ event }) => event).filter((event) => event !== "warning"),
      ["built", "ready", "email", "fetch"],
    );
    const email = printed.find(({ event }) => event === "email") as unknown as {
      worker: string;
      outcome: string;
      logs: { message: unknown[] }[];
    };
    assert.deepEqual(
      [email.worker, email.outcome, email.logs[0]!.message],
      ["test", "ok", ["got", "inbox@example.org"]],
    );
  });

  it("finishes pending work on the first stop request, and exits immediately on the second", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": WORKER });
    const patient = await spawnDev(t, folder);
    const gate = await openGate(t);
    const response = send(patient.ready.url, { "X-Gate": gate.url });
    const open = await gate.reached();
    // Two signals in quick succession count as one request: a process group receives one directly and one from the
    // launcher. (Two signals of the same kind could be merged.)
    patient.child.kill("SIGTERM");
    patient.child.kill("SIGINT");
    const notice = () => patient.printed.find(({ event }) => event === "notice");
    while (notice() === undefined) await sleep(20);
    open();
    assert.equal((await response).status, 200);
    assert.deepEqual(await patient.exited, { code: 0, signal: null });
    assert.equal(patient.printed.findLast(({ event }) => event === "email")?.outcome, "ok");
    assert.match(String(notice()!.text), /^Waiting for work in progress/);

    const impatient = await spawnDev(t, folder);
    const cut = send(impatient.ready.url, { "X-Gate": gate.url }).then(
      () => "answered",
      () => "cut",
    );
    await gate.reached();
    impatient.child.kill("SIGINT");
    const gone = setInterval(() => impatient.child.kill("SIGINT"), 100);
    assert.deepEqual(await impatient.exited, { code: 130, signal: null });
    clearInterval(gone);
    assert.equal(await cut, "cut");
  });

  it("reports the port in use and suggests a fix", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": WORKER });
    const other = createServer().listen(0, "127.0.0.1");
    t.after(() => other.close());
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await assert.rejects(
      spawnDev(t, folder, ["--port", String(port)]),
      new RegExp(`exit code 1: .*Port ${port} on 127\\.0\\.0\\.1 is in use.*--port 0`),
    );
    await assert.rejects(
      spawnDev(t, folder, ["--smtp-port", String(port)]),
      /exit code 1: .*Cannot listen for SMTP: port .*--smtp-port 0/,
    );
  });

  it("rejects a second server with the same data directory, and accepts a different one", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": WORKER });
    const first = await spawnDev(t, folder);
    await assert.rejects(
      spawnDev(t, folder),
      new RegExp(`exit code 1: .*Another Reelpost server \\(process ${first.child.pid}\\).*--data-dir`),
    );
    const { ready } = await spawnDev(t, folder, ["--data-dir", "elsewhere"]);
    assert.equal(ready.dataDirectory, join(folder, "elsewhere"));
  });
});

it("a closed server releases all its resources and can be restarted immediately", async (t) => {
  const folder = await makeProject(t, { "src/index.ts": WORKER });
  const first = await serve(t, folder, { port: await freePort(), smtpPort: await freePort() });
  await first.close();
  const second = await serve(t, folder, { port: first.port, smtpPort: first.smtp!.port });
  assert.equal((await send(second.url)).status, 200);
});

describe("reelpost dev on a terminal", () => {
  /** The `script` program from util-linux gives a program its own terminal. */
  function onTerminal(t: { after(stop: () => unknown): void }, cwd: string) {
    const main = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");
    const child = spawn("script", ["-qfec", `${process.execPath} ${main} dev --port 0 --smtp-port 0`, "/dev/null"], {
      cwd,
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, TERM: "xterm", NO_COLOR: "" },
    });
    const exited = once(child, "close");
    t.after(async () => {
      child.kill("SIGKILL");
      await exited;
    });
    let text = "";
    let wake = () => {};
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      wake();
    });
    void exited.then(() => wake());
    return {
      exited,
      type: (keys: string) => void child.stdin.write(keys),
      async shows(wanted: RegExp | string): Promise<string> {
        for (;;) {
          const at = text.search(wanted);
          if (at >= 0) {
            const seen = text;
            text = text.slice(at + 1);
            return seen;
          }
          if (child.exitCode !== null) throw new Error(`ended without showing ${wanted}:\n${text}`);
          await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    };
  }

  it("shows a banner with colours, prints events, and responds to keys", async (t) => {
    const folder = await makeProject(
      t,
      { "src/index.ts": WORKER },
      { kv_namespaces: [{ binding: "KV", id: "things" }] },
    );
    const terminal = onTerminal(t, folder);
    const banner = await terminal.shows("╰");
    assert.ok(banner.includes("\u001b["));
    assert.match(banner, /env\.KV\s+KV namespace/);
    assert.match(banner, /open browser.*clear.*rebuild.*help.*quit/);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)![0];
    assert.equal((await send(url)).status, 200);
    await terminal.shows("inbox@example.org");
    terminal.type("r");
    await terminal.shows("rebuilt");
    await writeProjectFile(folder, "src/index.ts", WORKER.replace("hello", "changed"));
    await terminal.shows("rebuilt");
    terminal.type("c");
    await terminal.shows("\u001b\\[2J");
    terminal.type("h");
    await terminal.shows("╰");
    terminal.type("q");
    const [code] = (await terminal.exited) as [number];
    assert.equal(code, 0);
  });

  it("stops on Ctrl-C", async (t) => {
    const terminal = onTerminal(t, await makeProject(t, { "src/index.ts": WORKER }));
    await terminal.shows("╰");
    terminal.type("\u0003");
    assert.equal(((await terminal.exited) as [number])[0], 0);
  });
});
