import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runCli } from "../../src/cli/cli.testing.ts";
import { startNextHop } from "../support/next-hop.ts";
import { createScope, mailer, makeProject, serve, type TestServer } from "./dev-bench.ts";

const WORKER = `
export default {
  async email(message) {
    if (message.headers.get("subject") === "forward") await message.forward("team@example.net");
  },
};
`;

describe("reelpost inbox", () => {
  const scope = createScope();
  after(scope.close);
  let cwd = "";
  let server: TestServer;
  before(async () => {
    cwd = await makeProject(scope, { "src/index.ts": WORKER });
  });

  const run = (...args: string[]) => runCli(["inbox", ...args], { cwd });
  const json = async <Result>(...args: string[]): Promise<Result> => {
    const { stdout, stderr, code } = await run(...args, "--json");
    assert.equal(code, 0, stdout + stderr);
    return JSON.parse(stdout) as Result;
  };
  const send = (subject: string) =>
    mailer(scope, server).sendMail({
      from: "ada@example.com",
      to: "inbox@example.org",
      subject,
      text: "Hello\u001b[31m",
    });

  it("names the directory when no development server is running", async () => {
    const { code, stdout, stderr } = await run("list");
    assert.notEqual(code, 0);
    assert.match(stdout + stderr, /No `reelpost dev` is running with the data directory .*\.reelpost/);
    server = await serve(scope, cwd);
  });

  it("lists and shows messages, without control characters of the sender", async () => {
    await send("forward");
    const [received] = await json<{ id: string; kind: string }[]>("list", "--search", "kind:received");
    const table = await run("list");
    assert.match(table.stdout, /forwarded +ada@example.com +team@example.net +captured/);
    const { stdout } = await run("get", received!.id);
    assert.match(stdout, /inbox@example.org +test +ok/);
    assert.match(stdout, /forwarded/);
    assert.match(stdout, /\nHello/);
    assert.ok(!stdout.includes("\u001b[31m"));
    assert.match((await run("get", received!.id, "--raw")).stdout, /^Received: [^]*Subject: forward\r\n/);
  });

  it("waits for a message, and exits with 1 when none arrives", async () => {
    const waiting = json<{ subject: string }[]>("wait", "--search", "subject:awaited");
    await send("awaited");
    assert.deepEqual(
      (await waiting).map(({ subject }) => subject),
      ["awaited"],
    );
    const late = await run("wait", "--search", "subject:never", "--timeout", "1");
    assert.equal(late.code, 1);
    assert.match(late.stderr, /0 messages of 1 arrived within 1 s/);
  });

  it("releases a message", async () => {
    const hop = await startNextHop(scope);
    const [message] = await json<{ id: string }[]>("list", "--search", "subject:awaited");
    const relay = `smtp://127.0.0.1:${hop.port}?tls=none`;
    const { code, stdout } = await run("release", message!.id, "--server", relay, "--to", "me@example.com");
    assert.deepEqual([code, /me@example.com +delivered +250/.test(stdout)], [0, true], stdout);
    assert.equal(hop.taken.length, 1);
  });

  it("deletes one message, those that match, or all", async () => {
    const [message] = await json<{ id: string }[]>("list", "--search", "subject:awaited");
    assert.equal((await run("delete", message!.id)).code, 0);
    assert.match((await run("delete")).stderr, /neither a message nor a search/);
    assert.deepEqual(await json("delete", "--search", "kind:forwarded", "--yes"), { deleted: 1 });
    assert.deepEqual(await json("delete", "--all", "--yes"), { deleted: 1 });
    assert.deepEqual(await json("list"), []);
  });
});
