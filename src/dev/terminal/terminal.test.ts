import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import type { LogLevel } from "../../kernel/index.ts";
import { createTerminal } from "./terminal.ts";

const server = {
  url: "http://127.0.0.1:8787",
  smtp: { host: "127.0.0.1", port: 2525 },
  dataDir: "/p/.reelpost",
  mailDir: "/p/.reelpost/mail/1",
  workers: [
    {
      name: "inbox",
      config: "wrangler.jsonc",
      bindings: [{ type: "secret_text" as const, name: "KEY", text: "s3cret" }],
    },
  ],
  rebuild: async () => {},
};

function open({ json = false, tty = false, logLevel = "error" as LogLevel } = {}) {
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: tty, setRawMode: (on: boolean) => void raw.push(on) });
  const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY: tty }), new PassThrough()];
  const terminal = createTerminal({
    json,
    version: "1.2.3",
    severalWorkers: false,
    logLevel,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
  });
  return {
    terminal,
    stdin,
    raw,
    /** Resolves with all text written to stdout and stderr. */
    async end() {
      await terminal.flushed();
      stdout.end();
      stderr.end();
      return Promise.all([text(stdout), text(stderr)]);
    },
  };
}

describe("the terminal of reelpost dev", () => {
  it("prints the ready event without secrets, and log lines to stderr", async () => {
    const { terminal, end } = open({ json: true });
    terminal.ready(server);
    terminal.log.error("out of order");
    const [out, err] = await end();
    const { workers, ...event } = JSON.parse(out) as Record<string, unknown>;
    assert.deepEqual(event, {
      event: "ready",
      version: "1.2.3",
      url: server.url,
      smtp: server.smtp,
      dataDirectory: server.dataDir,
      mailDirectory: server.mailDir,
    });
    assert.deepEqual(workers, [
      { name: "inbox", config: "wrangler.jsonc", bindings: [{ type: "secret_text", name: "KEY", text: "" }] },
    ]);
    assert.match(err, /out of order/);
  });

  it("prints log lines from the requested level as events", async () => {
    const { terminal, end } = open({ logLevel: "warn" });
    terminal.log.info("not shown");
    terminal.log.warn("disk almost full");
    terminal.log.error({ err: new TypeError("broken") }, "request failed");
    const [out, err] = await end();
    assert.match(out, /^warning {2}disk almost full\nerror\n {2}request failed\n {2}TypeError: broken\n/);
    assert.doesNotMatch(out, /not shown/);
    assert.equal(err, "");
  });

  it("prints a banner without hotkeys if the output is a pipe", async () => {
    const { terminal, raw, end } = open();
    terminal.ready(server);
    assert.match((await end())[0], /^reelpost dev 1\.2\.3\n(?!.*open browser)/s);
    assert.deepEqual(raw, []);
  });

  it("responds to hotkeys on a terminal until it is closed", async () => {
    const { terminal, stdin, raw, end } = open({ tty: true });
    const rebuilt = Promise.withResolvers<void>();
    let rebuilds = 0;
    terminal.ready({
      ...server,
      rebuild: async () => {
        rebuilds++;
        rebuilt.resolve();
        throw new Error("cannot be built");
      },
    });
    stdin.write("?r");
    await rebuilt.promise;
    await new Promise((resolve) => setImmediate(resolve));
    terminal.close();
    stdin.write("r");
    const [out] = await end();
    assert.equal(out.match(/open browser/g)?.length, 2, "the banner at start and for the question mark");
    assert.match(out, /cannot be built/);
    assert.deepEqual([rebuilds, raw], [1, [true, false]]);
  });
});
