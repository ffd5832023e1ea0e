import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it, test } from "node:test";
import { listen } from "../../src/kernel/index.ts";
import { startNextHop } from "../support/next-hop.ts";
import { createScope, mailer, makeProject, serve, type Scope, type TestServer } from "./dev-bench.ts";

const ACCOUNT = "0".repeat(32);
const WORKER = `
export default {
  async email(message, env) {
    const subject = message.headers.get("subject") ?? "";
    if (subject === "reject") return message.setReject("nope");
    if (subject === "throw") throw new TypeError("thrown on purpose");
    if (subject === "forward") await message.forward("team@example.net");
    if (subject === "send") await env.OUT.send({ from: "inbox@example.org", to: "boss@example.com", subject: "report", text: "all well" });
  },
  async fetch(request, env) {
    await env.OUT.send({ from: "inbox@example.org", to: "boss@example.com", subject: "from fetch", text: "hello" });
    return new Response("sent");
  },
};
`;

interface Message {
  id: string;
  kind: string;
  status: string;
  from: string;
  to: string[];
  subject: string;
  parent_id: string | null;
  worker: string | null;
  read: boolean;
  attachment_count: number;
  deliveries: {
    to: string;
    worker: string;
    outcome: string | null;
    rejected: string | null;
    exception: string | null;
  }[];
}

interface Envelope<Result> {
  success: boolean;
  errors: { message: string }[];
  result: Result;
  result_info?: { total_count: number };
}

/** Serves the API without a token, like the listener of the dashboard. */
async function openApi(t: Scope, server: TestServer) {
  const http = createServer((request, response) => void server.api.handleLocal(request, response));
  const { url } = await listen(http, { host: "127.0.0.1", port: 0 });
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  const base = `${url}/client/v4/accounts/${ACCOUNT}`;
  const call = async <Result>(method: string, path: string, body?: unknown): Promise<Envelope<Result>> => {
    const response = await fetch(`${base}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    return (await response.json()) as Envelope<Result>;
  };
  const list = async (query = "", more = "") =>
    (await call<Message[]>("GET", `/email/inbox/messages?query=${encodeURIComponent(query)}${more}`)).result;
  return { url, base, call, list };
}

describe("the inbox of reelpost dev", () => {
  const scope = createScope();
  after(scope.close);
  let folder = "";
  let server: TestServer;
  let api: Awaited<ReturnType<typeof openApi>>;

  before(async () => {
    folder = await makeProject(scope, { "src/index.ts": WORKER }, { send_email: [{ name: "OUT" }] });
    server = await serve(scope, folder);
    api = await openApi(scope, server);
  });

  const send = (fields: Record<string, unknown>) =>
    mailer(scope, server).sendMail({
      from: "Ada <ada@example.com>",
      to: "inbox@example.org",
      text: "Hello",
      ...fields,
    });

  it("has a message once SMTP has accepted it, with the result of the worker", async () => {
    await send({ subject: "plain" });
    const [message] = await api.list("subject:plain");
    assert.deepEqual(
      [message!.kind, message!.status, message!.from, message!.to, message!.worker],
      ["received", "accepted", "ada@example.com", ["inbox@example.org"], "test"],
    );
    assert.deepEqual(
      message!.deliveries.map(({ to, outcome }) => [to, outcome]),
      [["inbox@example.org", "ok"]],
    );
  });

  it("shows rejections and exceptions", async () => {
    await assert.rejects(send({ subject: "reject" }), /nope/);
    await assert.rejects(send({ subject: "throw" }));
    const [rejected] = await api.list("subject:reject");
    const [failed] = await api.list("status:failed");
    assert.deepEqual([rejected!.status, rejected!.deliveries[0]!.rejected], ["rejected", "nope"]);
    assert.deepEqual([failed!.subject, failed!.deliveries[0]!.exception], ["throw", "TypeError: thrown on purpose"]);
  });

  it("relates forwards, replies and sent messages to the received message", async () => {
    for (const [subject, kind] of [
      ["forward", "forwarded"],
      ["send", "sent"],
    ] as const) {
      await send({ subject });
      const [received] = await api.list(`subject:${subject} kind:received`);
      const details = await api.call<Message & { caused: Message[] }>("GET", `/email/inbox/messages/${received!.id}`);
      assert.deepEqual(
        details.result.caused.map((one) => [one.kind, one.status, one.parent_id]),
        [[kind, "captured", received!.id]],
      );
    }
    await fetch(server.url);
    const [fromFetch] = await api.list('subject:"from fetch"');
    assert.deepEqual([fromFetch!.kind, fromFetch!.parent_id], ["sent", null]);
  });

  it("returns content, attachments, HTML without scripts, and the raw message", async () => {
    await send({
      subject: "rich",
      html: '<p>Hi</p><img src="cid:logo@x"><script>alert(1)</script>',
      attachments: [
        { filename: "logo.png", content: Buffer.from([1, 2, 3]), cid: "logo@x" },
        { filename: "größe.html", content: "<script>alert(2)</script>" },
      ],
    });
    const [message] = await api.list("has:attachment subject:rich");
    assert.equal(message!.attachment_count, 1);
    const path = `${api.base}/email/inbox/messages/${message!.id}`;
    const details = await api.call<{ content: { text: string; attachments: { inline: boolean }[] } }>(
      "GET",
      `/email/inbox/messages/${message!.id}`,
    );
    assert.deepEqual(
      [details.result.content.text.trim(), details.result.content.attachments.map(({ inline }) => inline)],
      ["Hello", [true, false]],
    );
    const html = await fetch(`${path}/html`);
    assert.match(
      html.headers.get("content-security-policy")!,
      /^sandbox (?!.*allow-scripts).*default-src 'none'; img-src data:;/,
    );
    assert.match(await html.text(), /<img src="data:image\/png;base64,AQID">/);
    assert.match(
      (await fetch(`${path}/html?remote=true`)).headers.get("content-security-policy")!,
      /img-src data: http: https:/,
    );
    const attachment = await fetch(`${path}/attachments/1`);
    assert.deepEqual(
      [attachment.headers.get("content-disposition"), attachment.headers.get("x-content-type-options")],
      ["attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.html", "nosniff"],
    );
    assert.equal(await attachment.text(), "<script>alert(2)</script>");
    assert.equal((await fetch(`${path}/attachments/2`)).status, 404);
    const raw = await (await fetch(`${path}/raw`)).text();
    assert.match(raw, /^Received: .*\r\n/);
    assert.match(raw, /Subject: rich\r\n/);
  });

  it("waits for a message, and returns an empty list when none arrives", async () => {
    const waiting = api.list("subject:awaited", "&wait=30");
    await send({ subject: "awaited" });
    assert.equal((await waiting).length, 1);
    assert.deepEqual(await api.list("subject:never", "&wait=0.05"), []);
    const two = api.list("subject:pair", "&wait=30&count=2");
    await send({ subject: "pair" });
    await send({ subject: "pair" });
    assert.equal((await two).length, 2);
  });

  it("marks messages as read, and deletes one or all that match", async () => {
    await send({ subject: "old news" });
    const [message] = await api.list('"old news"');
    const path = `/email/inbox/messages/${message!.id}`;
    assert.equal((await api.call<Message>("PATCH", path, { read: true })).result.read, true);
    assert.equal((await api.list('is:unread "old news"')).length, 0);
    assert.equal((await api.call("DELETE", path)).success, true);
    assert.match((await api.call("GET", path)).errors[0]!.message, /not found/);
    await send({ subject: "to delete" });
    const deleted = await api.call<{ deleted: number }>(
      "DELETE",
      `/email/inbox/messages?query=${encodeURIComponent('subject:"to delete"')}`,
    );
    assert.deepEqual(deleted.result, { deleted: 1 });
  });

  it("composes a message, and passes a stored one to the worker again", async () => {
    const composed = await api.call<{ id: string }>("POST", "/email/inbox/messages", {
      from: "ada@example.com",
      to: "inbox@example.org",
      subject: "composed",
      text: "by hand",
    });
    const [message] = await api.list("subject:composed");
    assert.equal(message!.id, composed.result.id);
    const resent = await api.call<{ id: string }>("POST", `/email/inbox/messages/${message!.id}/resend`, {
      from: "other@example.com",
    });
    const again = await api.call<Message>("GET", `/email/inbox/messages/${resent.result.id}`);
    assert.deepEqual(
      [again.result.subject, again.result.from, again.result.status],
      ["composed", "other@example.com", "accepted"],
    );
    const unknown = await api.call("POST", `/email/inbox/messages/${message!.id}/resend`, { worker: "unknown" });
    assert.match(unknown.errors[0]!.message, /The worker "unknown" does not exist/);
  });

  it("releases a message to an SMTP server", async () => {
    const hop = await startNextHop(scope);
    await send({ subject: "real" });
    const [message] = await api.list("subject:real");
    const path = `/email/inbox/messages/${message!.id}/release`;
    const released = await api.call<{ to: string; outcome: string }[]>("POST", path, {
      server: `smtp://127.0.0.1:${hop.port}?tls=none`,
      to: ["me@example.com"],
    });
    assert.deepEqual(
      released.result.map(({ to, outcome }) => [to, outcome]),
      [["me@example.com", "delivered"]],
    );
    assert.deepEqual(
      hop.taken.map(({ from, to }) => [from, to]),
      [["ada@example.com", ["me@example.com"]]],
    );
    assert.match((await api.call("POST", path, { server: "localhost" })).errors[0]!.message, /Invalid SMTP server/);
    assert.match((await api.call("POST", path)).errors[0]!.message, /No SMTP server/);
  });

  it("checks links, and private addresses only on request", async () => {
    const site = createServer((request, response) => {
      response.writeHead(request.url === "/gone" ? 410 : request.method === "HEAD" ? 405 : 200).end();
    });
    const { url } = await listen(site, { host: "127.0.0.1", port: 0 });
    scope.after(() => void site.close());
    await send({
      subject: "links",
      html: `<a href="${url}/ok">a</a><img src="${url}/gone"><a href="mailto:x@y">m</a>`,
    });
    const [message] = await api.list("subject:links");
    const check = async (query: string) =>
      (
        await api.call<{ url: string; status: number | null; error: string | null }[]>(
          "GET",
          `/email/inbox/messages/${message!.id}/links?${query}`,
        )
      ).result.map((link) => [link.url.replace(url, ""), link.status, link.error !== null]);
    assert.deepEqual(await check(""), [
      ["/ok", null, false],
      ["/gone", null, false],
    ]);
    assert.deepEqual(await check("check=true"), [
      ["/ok", null, true],
      ["/gone", null, true],
    ]);
    assert.deepEqual(await check("check=true&private=true"), [
      ["/ok", 200, false],
      ["/gone", 410, false],
    ]);
  });

  it("streams an event for every change", async () => {
    const gone = new AbortController();
    const response = await fetch(`${api.base}/events?topics=inbox`, { signal: gone.signal });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const chunks = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await send({ subject: "event" });
    const [message] = await api.list("subject:event");
    let text = "";
    while (!text.includes("change")) text += (await chunks.read()).value;
    assert.ok(text.includes(`event: change\ndata: {"topic":"inbox","id":"${message!.id}"}\n\n`), text);
    gone.abort();
  });

  it("rejects an invalid search and states the valid values", async () => {
    const { errors } = await api.call("GET", "/email/inbox/messages?query=kind:lost");
    assert.match(errors[0]!.message, /kind:lost is not one of received/);
  });
});

test("the inbox keeps its messages across a restart, and deletes the oldest ones beyond its limits", async (t) => {
  const folder = await makeProject(t, { "src/index.ts": WORKER }, { send_email: [{ name: "OUT" }] });
  const env = { REELPOST_INBOX_MAX_MESSAGES: "3" };
  const first = await serve(t, folder, { env });
  for (const subject of ["one", "two"])
    await mailer(t, first).sendMail({ from: "a@b.example", to: "c@d.example", subject });
  await first.close();
  const second = await serve(t, folder, { env });
  const { list } = await openApi(t, second);
  assert.deepEqual(
    (await list()).map(({ subject, status }) => [subject, status]),
    [
      ["two", "accepted"],
      ["one", "accepted"],
    ],
  );
  for (const subject of ["three", "four"])
    await mailer(t, second).sendMail({ from: "a@b.example", to: "c@d.example", subject });
  assert.deepEqual(
    (await list()).map(({ subject }) => subject),
    ["four", "three", "two"],
  );
});
