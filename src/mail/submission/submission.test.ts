import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { connect, createSecureContext, type TLSSocket } from "node:tls";
import { createTransport } from "nodemailer";
import { defineErrors } from "../../kernel/index.ts";
import { mailErrors } from "../errors.ts";
import { clock, ids, log, newSpool, rawClient } from "../mail.testing.ts";
import type { Envelope, SmtpReply } from "../messages/index.ts";
import { selfSigned } from "../outbound/certificate.testing.ts";
import { createSubmissionListener, type SubmissionListenerOptions, type SubmissionLimits } from "./listener.ts";

const TOKEN = "an-api-token-that-may-send-mail";
const context = createSecureContext(selfSigned("mx.test"));

interface Sent {
  submitter: string;
  envelope: Envelope;
  raw: string;
}

type Changes = Partial<
  Pick<SubmissionListenerOptions<string>, "authenticate" | "checkSender" | "onRejected" | "proxies">
> & { limits?: Partial<SubmissionLimits>; answer?: (envelope: Envelope) => SmtpReply };

async function listen(
  t: TestContext,
  { answer = () => ({ code: 250, enhanced: "2.0.0", text: "Ok <id@sender.example>" }), ...changes }: Changes = {},
) {
  const sent: Sent[] = [];
  const spool = await newSpool();
  const listener = await createSubmissionListener<string>({
    host: "127.0.0.1",
    port: 0,
    name: "mx.test",
    tls: { context: () => context },
    spool,
    clock,
    ids,
    log,
    authenticate: async (token) => (token === TOKEN ? "somebody" : undefined),
    async submit(submitter, envelope, source) {
      const opened = source.open();
      sent.push({
        submitter,
        envelope,
        raw: Buffer.from(opened instanceof Readable ? Buffer.concat(await opened.toArray()) : opened).toString(
          "latin1",
        ),
      });
      await source.discard();
      return answer(envelope);
    },
    ...changes,
    limits: { tarpitMs: 5, ...changes.limits },
  });
  t.after(() => listener.close());
  return { port: listener.port, sent, spoolFiles: spool.files };
}

const transport = (port: number, auth?: { user: string; pass: string }) =>
  createTransport({
    host: "127.0.0.1",
    port,
    secure: true,
    name: "client.example",
    tls: { rejectUnauthorized: false },
    ...(auth && { auth }),
  });

const MAIL = {
  envelope: { from: "a@sender.example", to: ["b@here.example", "c@here.example"] },
  raw: "From: a@sender.example\r\nSubject: hi\r\n\r\nbody\r\n",
};

/** Starts a client that sends exactly the given lines, inside TLS. */
async function tlsClient(port: number, over?: Socket) {
  const socket: TLSSocket = connect({
    ...(over ? { socket: over } : { host: "127.0.0.1", port }),
    rejectUnauthorized: false,
  });
  await once(socket, "secureConnect");
  socket.setEncoding("latin1");
  let text = "";
  let ended = false;
  let wake = () => {};
  socket
    .on("data", (more: string) => ((text += more), wake()))
    .on("close", () => ((ended = true), wake()))
    .on("error", () => {});
  async function reply(): Promise<string> {
    for (;;) {
      const [found] = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(text) ?? [];
      if (found !== undefined) {
        text = text.slice(found.length);
        return found.trimEnd();
      }
      if (ended) return "(closed)";
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  return { socket, reply, say: (line: string) => (socket.write(`${line}\r\n`), reply()) };
}

const plain = (user: string, token: string) => `AUTH PLAIN ${Buffer.from(`\0${user}\0${token}`).toString("base64")}`;

for (const method of ["PLAIN", "LOGIN"]) {
  test(`nodemailer submits with AUTH ${method}, and the message stays unchanged, without the client's address`, async (t) => {
    const { port, sent } = await listen(t);
    const client = createTransport({
      host: "127.0.0.1",
      port,
      secure: true,
      authMethod: method,
      name: "client.example",
      tls: { rejectUnauthorized: false },
      auth: { user: "api_token", pass: TOKEN },
    });
    const info = await client.sendMail(MAIL);
    client.close();
    assert.equal(info.response, "250 2.0.0 Ok <id@sender.example>");
    const [{ submitter, envelope, raw }] = sent as [Sent];
    assert.equal(submitter, "somebody");
    assert.match(envelope.tls!, /^TLSv1\.[23] /);
    assert.deepEqual(
      { ...envelope, tls: "" },
      {
        from: "a@sender.example",
        to: ["b@here.example", "c@here.example"],
        helo: "client.example",
        ip: "127.0.0.1",
        tls: "",
        smtputf8: false,
      },
    );
    assert.equal(raw, MAIL.raw);
  });
}

test("offers the expected extensions, and requires EHLO and authentication before MAIL", async (t) => {
  const { port } = await listen(t);
  const client = await tlsClient(port);
  assert.equal(await client.reply(), "220 mx.test ESMTP");
  assert.match(await client.say("MAIL FROM:<a@sender.example>"), /^503 5\.5\.1 /);
  assert.deepEqual((await client.say("EHLO client.example")).split("\r\n"), [
    "250-mx.test greets [127.0.0.1]",
    "250-8BITMIME",
    "250-ENHANCEDSTATUSCODES",
    "250-AUTH PLAIN LOGIN",
    "250 SIZE 5242880",
  ]);
  assert.equal(await client.say("MAIL FROM:<a@sender.example>"), "530 5.7.0 Authentication required");
  assert.match(await client.say("STARTTLS"), /^500 5\./);
  assert.match(await client.say("AUTH CRAM-MD5"), /^504 5\./);
  assert.match(await client.say("AUTH PLAIN !"), /^501 5\./);
  assert.match(await client.say(plain("api_token", TOKEN)), /^235 2\.7\.0 /);
  assert.match(await client.say("EHLO client.example"), /^250-(?![^]*AUTH)/);
  assert.match(await client.say("MAIL FROM:<a@sender.example> SIZE=5242881"), /^552 5\.3\.4 /);
  assert.equal(await client.say("MAIL FROM:<>"), "550 5.7.1 Sender denied: the null sender is not allowed");
  assert.match(await client.say("MAIL FROM:<a@sender.example> AUTH=<> SIZE=1000"), /^250 2\.1\.0 /);
  assert.match(await client.say("RCPT TO:<b@here.example>"), /^250 2\.1\.5 /);
  assert.match(await client.say("RCPT TO:<b@here.example> NOTIFY=NEVER"), /^555 5\.5\.4 /);
  client.socket.destroy();
});

test("accepts only the user api_token, and replies 535 to a wrong token and 454 to an internal error", async (t) => {
  const { port } = await listen(t, {
    authenticate: (token) =>
      token === "broken"
        ? Promise.reject(new Error("secret detail"))
        : Promise.resolve(token === TOKEN ? "somebody" : undefined),
    limits: { errorsBeforeDelay: 100 },
  });
  const client = await tlsClient(port);
  await client.reply();
  await client.say("EHLO x");
  assert.match(await client.say(plain("somebody", TOKEN)), /^535 5\.7\.8 /);
  assert.match(await client.say(plain("api_token", "wrong")), /^535 5\.7\.8 /);
  assert.match(await client.say(plain("api_token", "")), /^535 5\.7\.8 /);
  assert.equal(
    await client.say(plain("api_token", "broken")),
    "454 4.7.0 Temporary authentication failure, try again later",
  );
  assert.match(await client.say(plain("api_token", TOKEN)), /^235 2\.7\.0 /);
  client.socket.destroy();
});

test("temporarily blocks a client that guesses tokens, even if it then uses the right one", async (t) => {
  const attempts: string[] = [];
  const { port } = await listen(t, {
    authenticate: async (token) => (attempts.push(token), token === TOKEN ? "somebody" : undefined),
    limits: { failures: 3 },
  });
  for (let i = 0; i < 3; i++)
    await assert.rejects(transport(port, { user: "api_token", pass: `guess ${i}` }).verify(), { responseCode: 535 });
  await assert.rejects(transport(port, { user: "api_token", pass: TOKEN }).verify(), { responseCode: 421 });
  assert.equal(attempts.length, 3, "the fourth attempt was not looked up");
  clock.advance(10 * 60_000);
  assert.equal(await transport(port, { user: "api_token", pass: TOKEN }).verify(), true);
});

test("rejects the 51st recipient with 452 4.5.3 and accepts the others", async (t) => {
  const { port, sent } = await listen(t);
  const client = await tlsClient(port);
  await client.reply();
  await client.say("EHLO x");
  await client.say(plain("api_token", TOKEN));
  await client.say("MAIL FROM:<a@sender.example>");
  const replies: string[] = [];
  for (let i = 0; i < 51; i++) replies.push(await client.say(`RCPT TO:<r${i}@here.example>`));
  assert.deepEqual([...new Set(replies.slice(0, 50))], ["250 2.1.5 Accepted"]);
  assert.match(replies[50]!, /^452 4\.5\.3 /);
  assert.match(await client.say("DATA"), /^354 /);
  assert.match(await client.say("x\r\n."), /^250 2\.0\.0 Ok </);
  assert.equal(sent[0]!.envelope.to.length, 50);
  client.socket.destroy();
});

test("rejects messages over 5 MiB after reading them", async (t) => {
  const { port, sent, spoolFiles } = await listen(t);
  const client = transport(port, { user: "api_token", pass: TOKEN });
  const raw = Buffer.concat([Buffer.from("A: 1\r\n\r\n"), Buffer.alloc(5_242_880, `${"y".repeat(62)}\r\n`)]);
  await assert.rejects(client.sendMail({ ...MAIL, raw }), { responseCode: 552 });
  // Sends MAIL without the SIZE parameter.
  const plainly = await tlsClient(port);
  await plainly.reply();
  await plainly.say("EHLO x");
  await plainly.say(plain("api_token", TOKEN));
  await plainly.say("MAIL FROM:<a@sender.example>");
  await plainly.say("RCPT TO:<b@here.example>");
  await plainly.say("DATA");
  plainly.socket.write(raw);
  assert.match(await plainly.say("."), /^552 5\.3\.4 /);
  plainly.socket.destroy();
  assert.equal(sent.length, 0);
  assert.deepEqual(await spoolFiles(), []);
});

test("rejects a foreign sender at MAIL, and returns the reply of submit", async (t) => {
  const refused: string[] = [];
  const { port, sent } = await listen(t, {
    checkSender: async (submitter, from) =>
      from.endsWith("@sender.example")
        ? undefined
        : { code: 550, enhanced: "5.7.1", text: `${submitter} may not send mail from ${from}` },
    answer: ({ to }) => {
      if (to.length === 1) throw mailErrors.storageFull();
      return { code: 554, enhanced: "5.7.1", text: "No" };
    },
    onRejected: (envelope, reply, stage) => void refused.push(`${stage} ${envelope.from} ${reply.code}`),
  });
  const client = transport(port, { user: "api_token", pass: TOKEN });
  await assert.rejects(client.sendMail({ ...MAIL, envelope: { from: "x@other.example", to: "b@here.example" } }), {
    responseCode: 550,
    response: "550 5.7.1 somebody may not send mail from x@other.example",
  });
  await assert.rejects(client.sendMail(MAIL), { response: "554 5.7.1 No" });
  await assert.rejects(client.sendMail({ ...MAIL, envelope: { from: "a@sender.example", to: "b@here.example" } }), {
    response: "452 4.3.1 Insufficient storage, try again later",
  });
  assert.equal(sent.length, 2);
  assert.deepEqual(refused, ["mail x@other.example 550", "data a@sender.example 452"]);
});

test("closes a session at the next MAIL after its token is revoked, without counting a failed attempt", async (t) => {
  let valid: string | undefined = "before";
  let broken = false;
  const seen: string[] = [];
  const { port, sent } = await listen(t, {
    authenticate: async () => (broken ? Promise.reject(new Error("no database")) : valid),
    checkSender: async (submitter) => void seen.push(submitter),
  });
  const client = await tlsClient(port);
  await client.reply();
  await client.say("EHLO x");
  await client.say(plain("api_token", TOKEN));
  valid = "with other permissions";
  assert.match(await client.say("MAIL FROM:<a@sender.example>"), /^250 /);
  await client.say("RCPT TO:<b@here.example>");
  await client.say("DATA");
  assert.match(await client.say("x\r\n."), /^250 /);
  assert.deepEqual([seen, sent[0]!.submitter], [["with other permissions"], "with other permissions"]);
  broken = true;
  assert.match(await client.say("MAIL FROM:<a@sender.example>"), /^451 /);
  broken = false;
  valid = undefined;
  assert.match(await client.say("MAIL FROM:<a@sender.example>"), /^421 4\.7\.0 Authentication is no longer valid/);
  assert.equal(await client.reply(), "(closed)");
});

test("rejects a token that may not be used from the client's address in the same way as an unknown one", async (t) => {
  const errors = defineErrors("x", {
    wrongAddress: { code: 9109, http: 403, message: "Cannot use the access token from location" },
  });
  const { port } = await listen(t, { authenticate: () => Promise.reject(errors.wrongAddress()) });
  await assert.rejects(transport(port, { user: "api_token", pass: TOKEN }).verify(), { responseCode: 535 });
});

test("disconnects clients that do not authenticate in time, whatever else they send", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { port } = await listen(t, { limits: { authMs: 150 } });
  const client = await tlsClient(port);
  await client.reply();
  await client.say("EHLO x");
  for (let i = 0; i < 3; i++) {
    t.mock.timers.tick(40);
    assert.match(await client.say("NOOP"), /^250 /);
  }
  t.mock.timers.tick(40);
  assert.equal(await client.reply(), "421 4.4.2 Error: authentication took too long, closing connection");
  assert.equal(await client.reply(), "(closed)");
});

test("aborts a TLS handshake that does not finish", async (t) => {
  const { port } = await listen(t, { limits: { handshakeMs: 100 } });
  const client = await rawClient(port);
  assert.equal(await client.rest(), "");
  const plainly = await rawClient(port);
  plainly.send("EHLO x\r\n");
  assert.doesNotMatch(await plainly.rest(), /^\d{3}/, "nothing is sent in plaintext");
});

test("behind a proxy, reads the header in plain text before TLS, and applies limits and tokens to the client's address", async (t) => {
  const attempts: string[] = [];
  const { port } = await listen(t, {
    proxies: ["127.0.0.1"],
    authenticate: async (_, ip) => (attempts.push(ip), undefined),
    limits: { failures: 1 },
  });
  const answers: string[] = [];
  for (const ip of ["192.0.2.7", "192.0.2.7", "192.0.2.8"]) {
    const plainly = await rawClient(port);
    plainly.send(`PROXY TCP4 ${ip} 198.51.100.1 1234 465\r\n`);
    const client = await tlsClient(port, plainly.socket);
    await client.reply();
    assert.match(await client.say("EHLO x"), new RegExp(`greets \\[${ip}\\]`));
    answers.push((await client.say(plain("api_token", TOKEN))).slice(0, 9));
    client.socket.destroy();
  }
  assert.deepEqual(answers, ["535 5.7.8", "421 4.7.0", "535 5.7.8"]);
  assert.deepEqual(attempts, ["192.0.2.7", "192.0.2.8"]);
});
