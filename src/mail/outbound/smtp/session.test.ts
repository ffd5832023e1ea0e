import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { deliveryRequestOf, HANG, resolverOf, startScripted, type Script } from "../outbound.testing.ts";
import type { SmartHost } from "../types.ts";
import { createDeliveryAgent } from "./delivery-agent.ts";

const NEVER = new AbortController().signal;

/** Sends a message by way of a scripted smart host. Returns its commands and the outcome. */
async function relay(script: Script, host: Partial<SmartHost> = {}, to = ["b@there.example"]) {
  const commands: string[] = [];
  const server = await startScripted((command, socket) => {
    commands.push(command);
    return script(command, socket);
  });
  const agent = createDeliveryAgent({
    clock: createManualClock(0),
    log: silentLog,
    name: "out.example",
    resolver: resolverOf({}),
    smartHosts: [{ host: "127.0.0.1", port: server.port, tls: "none", ...host }],
  });
  after(() => agent.close());
  const send = async () => {
    const { results } = await agent.deliver("there.example", deliveryRequestOf(to), NEVER);
    return results.map(({ outcome, reply: { code, enhanced, text } }) => `${outcome} ${code} ${enhanced} ${text}`);
  };
  return { commands, server, send, results: await send() };
}

const ehlo = (...keywords: string[]) =>
  ["250-there", ...keywords.map((word) => `250-${word}`), "250 HELP"].join("\r\n");
const base64 = (text: string) => Buffer.from(text).toString("base64");
const AUTH = { user: "user", pass: "secret" };

test("sends MAIL, RCPT and DATA together to a server with PIPELINING, and one by one to a server without it", async () => {
  const chunks = new Map<string, number>();
  for (const keywords of [["PIPELINING"], []]) {
    let written = 0;
    const { results } = await relay(
      (command, socket) => {
        if (!command.startsWith("EHLO")) return undefined;
        socket.prependListener("data", (chunk: Buffer) => (written += /RCPT|DATA/.test(chunk.toString()) ? 1 : 0));
        return ehlo(...keywords);
      },
      {},
      ["b@there.example", "c@there.example"],
    );
    assert.ok(results.every((result) => result.startsWith("delivered")));
    chunks.set(keywords.join(), written);
  }
  assert.deepEqual([...chunks.values()], [1, 3]);
});

test("authenticates with PLAIN, LOGIN or CRAM-MD5, as the server offers", async () => {
  const challenge = "<1.2@there>";
  const digest = createHmac("md5", "secret").update(challenge).digest("hex");
  for (const [offer, expected] of [
    ["AUTH LOGIN PLAIN", [`AUTH PLAIN ${base64("\0user\0secret")}`]],
    ["AUTH=LOGIN", ["AUTH LOGIN", base64("user"), base64("secret")]],
    ["AUTH CRAM-MD5", ["AUTH CRAM-MD5", base64(`user ${digest}`)]],
  ] as const) {
    const { commands, results } = await relay(
      (command) => {
        if (command.startsWith("EHLO")) return ehlo(offer);
        if (command === "AUTH LOGIN") return `334 ${base64("Username:")}`;
        if (command === base64("user")) return `334 ${base64("Password:")}`;
        if (command === "AUTH CRAM-MD5") return `334 ${base64(challenge)}`;
        if (command.startsWith("AUTH") || /^[A-Za-z0-9+/]{8,}=*$/.test(command)) return "235 2.7.0 welcome";
        return undefined;
      },
      { auth: AUTH },
    );
    assert.match(results[0]!, /^delivered/);
    assert.deepEqual(commands.slice(1, 1 + expected.length), expected);
  }
});

test("ends the exchange after a refused AUTH, which is a temporary failure", async () => {
  const { commands, results } = await relay(
    (command) =>
      command.startsWith("EHLO") ? ehlo("AUTH LOGIN") : command === "AUTH LOGIN" ? "535 5.7.8 no" : undefined,
    { auth: AUTH },
  );
  assert.match(results[0]!, /^temporary 451 4\.4\.0 .* answered: 535 5\.7\.8 no$/);
  assert.ok(!commands.includes(base64("user")));
});

test("falls back to HELO if EHLO is unknown", async () => {
  const { commands, results } = await relay((command) => (command.startsWith("EHLO") ? "500 what?" : undefined));
  assert.match(results[0]!, /^delivered/);
  assert.deepEqual(commands.slice(0, 3), ["EHLO out.example", "HELO out.example", "MAIL FROM:<a@sender.example>"]);
});

test("rejects a server that sends data in plaintext after its reply to STARTTLS", async () => {
  const { results } = await relay(
    (command) =>
      command.startsWith("EHLO") ? ehlo("STARTTLS") : command === "STARTTLS" ? "220 go\r\n250-injected" : undefined,
    { tls: "require" },
  );
  assert.match(results[0]!, /^temporary 451 4\.7\.5 .*TLS failed/);
});

test("does not treat a positive reply to DATA other than 354 as a delivery", async () => {
  const { results } = await relay((command) => (command === "DATA" ? "250 2.0.0 ok" : undefined));
  assert.match(results[0]!, /^temporary 451 4\.5\.0 /);
});

test("treats a malformed reply as a temporary failure", async () => {
  const { results } = await relay((command) => (command.startsWith("RCPT") ? "so what" : undefined));
  assert.match(results[0]!, /^temporary 451 4\.5\.0 a malformed reply: so what$/);
});

test("resets the session after a rejected recipient and uses it for the next message", async () => {
  let rejecting = true;
  const { commands, server, send, results } = await relay((command) =>
    command.startsWith("RCPT") && rejecting ? "550 5.1.1 unknown" : undefined,
  );
  assert.deepEqual(results, ["permanent 550 5.1.1 unknown"]);
  // RFC 2920 3.1: this server accepts DATA without a recipient, and expects a message.
  assert.deepEqual(commands.slice(-3), ["DATA", ".", "RSET"]);
  rejecting = false;
  assert.match((await send())[0]!, /^delivered/);
  assert.equal(server.connections, 1);
});

test("sends no dot after a rejected recipient to a server that rejects DATA, or that does not support PIPELINING", async () => {
  for (const [keywords, expected] of [
    [["PIPELINING"], ["DATA", "RSET"]],
    [[], ["RSET"]],
  ] as const) {
    const { commands, results } = await relay((command) => {
      if (command.startsWith("EHLO")) return ehlo(...keywords);
      if (command.startsWith("RCPT")) return "550 5.1.1 unknown";
      return command === "DATA" ? "554 5.5.1 no valid recipients" : undefined;
    });
    assert.deepEqual(results, ["permanent 550 5.1.1 unknown"]);
    assert.deepEqual(commands.slice(3), expected);
  }
});

for (const verb of ["MAIL", "RCPT"])
  test(`reports the reply to ${verb} of a server that closes the connection after it`, async () => {
    const { results } = await relay((command, socket) => {
      if (!command.startsWith(verb)) return undefined;
      socket.end("550 5.7.1 blocked\r\n");
      return HANG;
    });
    assert.deepEqual(results, ["permanent 550 5.7.1 blocked"]);
  });

test("opens another connection after an unexpected reply on an idle one", async () => {
  const { server, send } = await relay((command, socket) => {
    if (command === ".") setImmediate(() => socket.write("421 4.4.2 idle\r\n"));
    return undefined;
  });
  while (server.open.size > 0) await new Promise((resolve) => void setImmediate(resolve));
  assert.match((await send())[0]!, /^delivered/);
  assert.equal(server.connections, 2);
});
