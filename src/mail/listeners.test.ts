import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createSecureContext } from "node:tls";
import { createTransport } from "nodemailer";
import tlsOptions from "smtp-server/lib/tls-options";
import type { Caller } from "../accounts/index.ts";
import {
  createLifecycle,
  defineErrors,
  randomIds as ids,
  silentLog as log,
  systemClock as clock,
} from "../kernel/index.ts";
import { createMetrics } from "../kernel/metrics.ts";
import { settingsSchema, type SettingsInput } from "../kernel/settings.ts";
import { createSpool, type Envelope } from "./messages/index.ts";
import type { Zone } from "../zones/index.ts";
import { createListeners, type ListenersDeps } from "./listeners.ts";
import { createSubmitters } from "./submission/index.ts";

const context = createSecureContext(tlsOptions({}));
const at = { tls: { context: () => context } };

const callerOf = (account: string): Caller => ({
  tokenId: "t",
  user: { id: "u", email: "u@example" },
  accounts: [account],
  allows: (permission, on) => permission === "Email Sending Write" && "account" in on && on.account === account,
});

async function compose(t: TestContext, settings: SettingsInput, changes: Partial<ListenersDeps> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "reelpost-smtp-"));
  const lifecycle = createLifecycle({ log });
  const metrics = createMetrics({ processMetrics: false });
  const received: Envelope[] = [];
  const sent: { account: string; from: string; to: readonly string[] }[] = [];
  const smtp = createListeners(
    {
      settings: settingsSchema.parse({
        ...settings,
        smtp: { port: 0, name: "mx.test", ...settings.smtp },
        submission: { port: 0, ...settings.submission },
      }),
      receiver: {
        receive: async (envelope, source) => (
          received.push(envelope),
          await source.discard(),
          envelope.to.map((rcpt) => ({ rcpt, ok: true }))
        ),
        checkRecipient: async (rcpt) =>
          rcpt.endsWith("@here.example") || rcpt === "postmaster"
            ? undefined
            : { code: 550, enhanced: "5.1.1", text: `No such recipient: ${rcpt}` },
      },
      spool: createSpool({ dir, ids }),
      lookups: { resolve: () => Promise.reject(Object.assign(new Error("no such name"), { code: "ENOTFOUND" })) },
      metrics,
      accounts: { authenticate: async ({ secret }) => (secret === "token of one" ? callerOf("one") : undefined) },
      zones: {
        byName: async (name) =>
          name.endsWith("sender.example")
            ? ({ id: "z", account: "one" } as Zone)
            : name === "other.example"
              ? ({ id: "y", account: "two" } as Zone)
              : undefined,
      },
      sending: {
        send: async ({ account, from, to }) => (
          sent.push({ account, from, to }),
          { messageId: "<id@sender.example>", delivered: [], queued: [...to], suppressed: [], rejections: [] }
        ),
      },
      graceMs: 100,
      ...changes,
    },
    { clock, ids, log, lifecycle },
  );
  t.after(async () => {
    await lifecycle.stop();
    await rm(dir, { recursive: true, force: true });
  });
  async function start(listen: typeof smtp.listenForSubmission) {
    const listener = await listen(at);
    if (listener !== undefined) lifecycle.onStop("listener", () => listener.close());
    return listener?.port ?? 0;
  }
  return { received, sent, metrics, start, smtp };
}

const raw = "From: a@sender.example\r\n\r\nbody\r\n";

test("receives mail over STARTTLS, and rejects and counts unknown recipients", async (t) => {
  const { smtp, start, received, metrics } = await compose(t, {});
  const port = await start(smtp.listen);
  const client = createTransport({ host: "127.0.0.1", port, requireTLS: true, tls: { rejectUnauthorized: false } });
  const info = await client.sendMail({
    envelope: { from: "a@b.example", to: ["x@here.example", "x@elsewhere.example"] },
    raw,
  });
  client.close();
  assert.deepEqual(info.rejected, ["x@elsewhere.example"]);
  assert.deepEqual(received[0]!.to, ["x@here.example"]);
  assert.match(received[0]!.tls!, /^TLSv1/);
  const { body } = await metrics.render();
  assert.match(body, /reelpost_smtp_refusals_total\{listener="smtp",stage="rcpt",code="550"\} 1/);
  assert.match(body, /reelpost_smtp_connections\{listener="smtp"\} \d/);
});

test("queries block lists with the server's resolver, and accepts mail of listed clients for postmaster", async (t) => {
  const { smtp, start, received } = await compose(
    t,
    { smtp: { dnsbl: ["bl.example"] } },
    {
      lookups: {
        resolve: async (name, type) =>
          name !== "2.0.0.127.bl.example" ? [] : type === "A" ? ["127.0.0.2"] : [["https://bl.example/why"]],
      },
    },
  );
  const client = createTransport({
    host: "127.0.0.1",
    port: await start(smtp.listen),
    localAddress: "127.0.0.2",
    tls: { rejectUnauthorized: false },
  });
  await assert.rejects(client.sendMail({ envelope: { from: "a@b.example", to: "x@here.example" }, raw }), {
    response:
      /554 5\.7\.1 127\.0\.0\.2 found on one or more RBLs \(bl\.example\)\. Refer to https:\/\/bl\.example\/why/,
  });
  await client.sendMail({ envelope: { from: "a@b.example", to: "postmaster@here.example" }, raw });
  client.close();
  assert.deepEqual(
    received.map(({ to }) => to),
    [["postmaster@here.example"]],
  );
});

test("lets a token submit only for the account of the sender's zone", async (t) => {
  const { smtp, start, sent } = await compose(t, {});
  const port = await start(smtp.listenForSubmission);
  const client = createTransport({
    host: "127.0.0.1",
    port,
    secure: true,
    auth: { user: "api_token", pass: "token of one" },
    tls: { rejectUnauthorized: false },
  });
  const send = (from: string) => client.sendMail({ envelope: { from, to: "b@elsewhere.example" }, raw });
  assert.equal((await send("a@mail.sender.example")).response, "250 2.0.0 Ok <id@sender.example>");
  for (const from of ["a@other.example", "a@unknown.example"])
    await assert.rejects(send(from), { responseCode: 550, response: /^550 5\.7\.1 Sender denied: / });
  client.close();
  assert.deepEqual(sent, [{ account: "one", from: "a@mail.sender.example", to: ["b@elsewhere.example"] }]);
});

test("does not listen for submission when it is disabled", async (t) => {
  const { smtp } = await compose(t, { submission: { enabled: false } });
  assert.equal(await smtp.listenForSubmission(at), undefined);
});

test("replies 250 if any recipient is accepted, with the next hop's reply if none is accepted, and with 554 for an invalid message", async () => {
  const errors = defineErrors("x", {
    bad: { code: "E_VALIDATION_ERROR", http: 400, message: "From: header does not match mail from" },
  });
  const reply = { code: 550, enhanced: "5.1.1", text: "No such user" };
  const rejections = [{ rcpt: "b@x.example", reply }];
  const none = { messageId: "<id@x>", delivered: [], queued: [], suppressed: [], rejections: [] };
  for (const [result, expected] of [
    [{ ...none, delivered: ["c@x.example"], rejections }, "250 2.0.0 Ok <id@x>"],
    [{ ...none, suppressed: ["c@x.example"] }, "250 2.0.0 Ok <id@x>"],
    [{ ...none, rejections }, "550 5.1.1 No such user"],
    [errors.bad(), "554 5.6.0 From: header does not match mail from"],
  ] as const) {
    let discarded = 0;
    const ports = createSubmitters({
      accounts: { authenticate: async () => undefined },
      zones: { byName: async () => ({ id: "z", account: "one" }) as Zone },
      sending: {
        send: async () => {
          if (result instanceof Error) throw result;
          return result as never;
        },
      },
    });
    const source = {
      id: "1",
      size: 0,
      headerBlock: new Uint8Array(),
      open: () => new Uint8Array(),
      discard: async () => void discarded++,
    };
    const { code, enhanced, text } = await ports.submit(
      callerOf("one"),
      { from: "a@x.example", to: ["b@x.example"], helo: "", ip: "", smtputf8: false },
      source,
    );
    assert.equal(`${code} ${enhanced} ${text}`, expected);
    assert.equal(discarded, 1);
  }
});
