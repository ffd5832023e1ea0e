// npm start: the inbox example behind `reelpost dev`, one real message over SMTP, and every address to go on from.
import { spawn, type ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createTransport } from "nodemailer";
import { ensureSystem } from "./system.ts";

const root = join(import.meta.dirname, "..");
const config = join(root, "examples", "inbox", "wrangler.jsonc");
const host = "127.0.0.1";
const readyTimeoutMs = 60_000;

const say = (line = "") => void process.stdout.write(`${line}\n`);

ensureSystem("start");
const http = await portNear(8787);
const smtp = await portNear(2525);
const url = `http://${host}:${http}`;

const args = [join(root, "src", "cli", "main.ts"), "dev", "--config", relative(process.cwd(), config), "--port", String(http), "--smtp-port", String(smtp)];
const server = spawn(process.execPath, args, { stdio: "inherit" });
const ended = endOf(server);
// The terminal tells the whole group of Ctrl-C; a process manager tells only us. Either way the server decides when it is done.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void server.kill(signal));

try {
  await Promise.race([ready(), ended.then(() => Promise.reject(new Error("the server ended before it was ready")))]);
  await sendSample();
  await showResult();
} catch (err) {
  process.stderr.write(`npm start: ${err instanceof Error ? err.message : String(err)}\n`);
  server.kill("SIGTERM");
  await ended;
  process.exit(1);
}
process.exitCode = await ended;

async function ready(): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  while (Date.now() < deadline) {
    const answer = await fetch(`${url}/cdn-cgi/reelpost/health`).catch(() => undefined);
    if (answer?.ok) return;
    await delay(50);
  }
  throw new Error(`the server was not ready after ${readyTimeoutMs / 1000} s`);
}

async function sendSample(): Promise<void> {
  say(`\nSending a message with an attachment to ${host}:${smtp} over SMTP ...`);
  const transport = createTransport({ host, port: smtp, secure: false });
  const { response } = await transport.sendMail({
    from: "Ada Lovelace <ada@example.com>",
    to: "Inbox <inbox@example.net>",
    subject: "Notes on the engine",
    text: "Good evening,\n\nthe Analytical Engine weaves algebraic patterns just as the loom weaves flowers and leaves.\nThe first numbers are in the attached table.\n\nAda\n",
    attachments: [{ filename: "bernoulli.csv", contentType: "text/csv", content: "n,B(n)\n0,1\n1,-1/2\n2,1/6\n4,-1/30\n" }],
  });
  transport.close();
  say(`The server answered: ${response}`);
}

interface Mailbox {
  messages: { id: string; subject: string; senderName: string; attachments: { name: string; type: string; size: number; url: string }[] }[];
  counters: { messages: number; attachments: number; octets: number };
}

async function showResult(): Promise<void> {
  const { messages, counters } = (await (await fetch(`${url}/api/messages`)).json()) as Mailbox;
  const [newest] = messages;
  const attachment = newest?.attachments[0];
  if (newest === undefined || attachment === undefined) throw new Error("the message was accepted, but the mailbox does not show it");
  // The console of the server writes to the same terminal: let its lines about these requests come first.
  await delay(300);
  say(`
The worker did this with it
  parsed it        "${newest.subject}" from ${newest.senderName}
  R2, attachment   ${attachment.name} (${attachment.type}, ${attachment.size} bytes)
  D1, index        message ${newest.id}
  KV, counters     ${counters.messages} received, ${counters.attachments} attached, ${counters.octets} bytes so far

Look at it
  the mailbox      ${url}/
  this message     ${url}/messages/${newest.id}
  its attachment   ${url}${attachment.url}
  as JSON          ${url}/api/messages

Send more
  over SMTP        any mail program, server ${host}, port ${smtp}, no encryption, no login
  over HTTP        curl --data-binary @examples/inbox/message.eml "${url}/cdn-cgi/handler/email?from=ada@example.com&to=inbox@example.net"

Change examples/inbox/src and save: the worker is rebuilt. Ctrl-C stops the server.
`);
}

/** The usual port, or a free one when another program has it. */
async function portNear(usual: number): Promise<number> {
  return (await tryPort(usual)) ?? (await tryPort(0)) ?? usual;
}

function tryPort(port: number): Promise<number | undefined> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", () => resolve(undefined));
    probe.listen(port, host, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : undefined));
    });
  });
}

function endOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(1));
    child.once("exit", (code) => resolve(code ?? 1));
  });
}
