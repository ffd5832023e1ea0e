import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { after, before, describe, it } from "node:test";
import { createScope, isEmail, mailer, makeProject, message, serve, type TestServer } from "./dev-bench.ts";

const WORKER = `
import { EmailMessage } from "cloudflare:email";

export default {
  async email(message, env, ctx) {
    const subject = message.headers.get("subject") ?? "";
    const size = (await new Response(message.raw).arrayBuffer()).byteLength;
    console.log("size", size, message.rawSize, message.from, message.to);
    if (subject === "reject") return message.setReject("nope");
    if (subject === "throw") throw new TypeError("thrown on purpose");
    if (subject === "forward") await message.forward("team@example.net", new Headers({ "X-Seen": "yes" }));
    if (subject === "reply") {
      const raw = ["From: " + message.to, "To: ada@example.com", "Subject: re", "Message-ID: <r1@example.org>",
        "In-Reply-To: " + message.headers.get("message-id"), "", "thanks", ""].join("\\r\\n");
      await message.reply(new EmailMessage(message.to, "ada@example.com", raw));
    }
    if (subject.startsWith("bad reply")) {
      const raw = ["From: " + message.to, "Message-ID: <r2@example.org>", "In-Reply-To: <other@example.com>", "", "thanks", ""].join("\\r\\n");
      const reply = () => message.reply(new EmailMessage(message.to, "ada@example.com", raw));
      await (subject.endsWith("caught") ? reply().catch(() => {}) : reply());
    }
    if (subject === "send") await env.OUT.send({ from: "inbox@example.org", to: "boss@example.com", subject: "report", text: "all well", html: "<p>all well</p>",
      attachments: [{ filename: "data.bin", type: "application/octet-stream", disposition: "attachment", content: new Uint8Array([0, 1, 2, 255]).buffer }] });
    if (subject === "late") ctx.waitUntil((async () => { await new Promise((r) => setTimeout(r, 50)); await message.forward("late@example.net"); })());
  },
  async fetch(request) {
    return new Response("fetch handler: " + new URL(request.url).pathname);
  },
};
`;

describe("receiving mail in development", () => {
  let server: TestServer;
  const scope = createScope();
  after(scope.close);

  before(async () => {
    const folder = await makeProject(scope, { "src/index.ts": WORKER }, { send_email: [{ name: "OUT" }] });
    server = await serve(scope, folder, { limits: { messageBytes: 2 * 1024 * 1024 } });
  });

  const post = (path: string, body: string | Uint8Array | undefined, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, { method: "POST", body: body as RequestInit["body"], ...init });
  const answer = async (response: Response) => [response.status, await response.text()];
  const ENVELOPE = "from=ada@example.com&to=inbox@example.org";

  for (const path of ["/cdn-cgi/handler/email", "/cdn-cgi/local/email"]) {
    describe(path, () => {
      const send = (fields: Record<string, string>, query = ENVELOPE) => post(`${path}?${query}`, message(fields));

      it("reports that the worker handled the message", async () => {
        const response = await send({});
        assert.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
        assert.deepEqual(await answer(response), [200, "Worker successfully processed email"]);
      });

      it("rejects a message without an envelope or without a body, and other methods", async () => {
        const incomplete =
          "Invalid email. Your request must include URL parameters specifying the `from` and `to` addresses, as well as an email in the body";
        assert.deepEqual(await answer(await send({}, "from=ada@example.com")), [400, incomplete]);
        assert.deepEqual(await answer(await send({}, "to=ada@example.com&from=")), [400, incomplete]);
        assert.deepEqual(await answer(await post(`${path}?${ENVELOPE}`, undefined)), [400, incomplete]);
        const get = await fetch(`${server.url}${path}?${ENVELOPE}`);
        assert.equal(get.status, 405);
        assert.equal(get.headers.get("allow"), "POST");
      });

      it("rejects a message without a Message-ID", async () => {
        const bare = "From: ada@example.com\nTo: inbox@example.org\n\nhello";
        assert.deepEqual(await answer(await post(`${path}?${ENVELOPE}`, bare)), [
          400,
          "Email could not be parsed: invalid or no message id provided",
        ]);
      });

      it("reports the reason for a rejection", async () => {
        assert.deepEqual(await answer(await send({ Subject: "reject" })), [
          400,
          "Worker rejected email with the following reason: nope",
        ]);
      });

      it("responds to an exception with 500 and its stack, mapped to the source", async () => {
        const [status, text] = await answer(await send({ Subject: "throw" }));
        assert.equal(status, 500);
        assert.match(String(text), /^TypeError: thrown on purpose\n\s+at .*src\/index\.ts:10:/);
      });

      it("reports the worker's actions with format=json", async () => {
        const forwarded = await send({ Subject: "forward" }, `${ENVELOPE}&format=json`);
        assert.equal(forwarded.headers.get("content-type"), "application/json");
        const body = (await forwarded.json()) as {
          outcome: string;
          forwards: { messageId: string; recipient: string; headers: [string, string][] }[];
          replies: unknown[];
          events: { type: string; timestamp: string; messageId?: string }[];
        };
        assert.equal(body.outcome, "ok");
        assert.deepEqual(
          body.forwards.map(({ recipient, headers }) => ({
            recipient,
            headers: headers.map(([name, value]) => [name.toLowerCase(), value]),
          })),
          [{ recipient: "team@example.net", headers: [["x-seen", "yes"]] }],
        );
        assert.match(body.forwards[0]!.messageId, /^<[A-Za-z0-9]{36}@.+>$/);
        assert.deepEqual(body.replies, []);
        const forward = body.events.find(({ type }) => type === "forward")!;
        assert.equal(forward.messageId, body.forwards[0]!.messageId);
        assert.ok(!Number.isNaN(Date.parse(forward.timestamp)));

        const replied = (await (await send({ Subject: "reply" }, `${ENVELOPE}&format=json`)).json()) as {
          replies: { sender: string; raw: string; messageId: string }[];
        };
        assert.equal(replied.replies[0]!.sender, "inbox@example.org");
        assert.match(replied.replies[0]!.raw, /thanks/);

        const rejected = await send({ Subject: "reject" }, `${ENVELOPE}&format=json`);
        assert.equal(rejected.status, 200);
        assert.deepEqual(
          (({ outcome, rejectReason }) => ({ outcome, rejectReason }))(
            (await rejected.json()) as { outcome: string; rejectReason: string },
          ),
          { outcome: "ok", rejectReason: "nope" },
        );

        const thrown = await send({ Subject: "throw" }, `${ENVELOPE}&format=json`);
        assert.equal(thrown.status, 500);
        assert.equal(((await thrown.json()) as { outcome: string }).outcome, "exception");
      });
    });
  }

  describe("/__email", () => {
    const send = (raw: string, query = "") =>
      post(`/__email${query}`, raw, { headers: { "content-type": "message/rfc822" } });

    it("reads the envelope from the message", async () => {
      assert.deepEqual(
        await answer(
          await send(
            message({ From: '"Countess, Ada" <ada@example.com>', To: "Inbox <headers@example.org>", Subject: "x" }),
          ),
        ),
        [200, "Worker successfully processed email"],
      );
      const event = await server.event((e) => isEmail(e) && e.to === "headers@example.org");
      assert.ok(isEmail(event) && event.from === "ada@example.com" && event.warnings.length === 0);
    });

    it("gives each recipient its own message", async () => {
      assert.deepEqual(await answer(await send(message({ To: "one@multi.example, Two <two@multi.example>" }))), [
        200,
        "Worker successfully processed email",
      ]);
      await Promise.all(
        ["one", "two"].map((name) => server.event((e) => isEmail(e) && e.to === `${name}@multi.example`)),
      );
    });

    it("accepts a message without a Message-ID, as submission servers do", async () => {
      assert.deepEqual(await answer(await send("From: a@example.com\nTo: noid@example.org\nSubject: seed\n\nbody")), [
        200,
        "Worker successfully processed email",
      ]);
    });

    it("reports missing fields", async () => {
      assert.match(String((await answer(await send("From: a@example.com\nSubject: x\n\nbody")))[1]), /no To header/);
      assert.match(String((await answer(await send("To: a@example.com\nSubject: x\n\nbody")))[1]), /no From header/);
      assert.equal((await send("just words")).status, 400);
      assert.equal((await send("")).status, 400);
    });
  });

  it("rejects a message over the limit, whether declared, chunked or waiting for 100 Continue", async () => {
    const text = "Email message size is bigger than the production size limit of 2MiB.";
    const big = Buffer.concat([Buffer.from(message()), Buffer.alloc(3 * 1024 * 1024, 120)]);
    assert.deepEqual(await answer(await post(`/cdn-cgi/handler/email?${ENVELOPE}`, big)), [400, text]);
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(big);
        controller.close();
      },
    });
    assert.deepEqual(
      await answer(
        await post(`/cdn-cgi/handler/email?${ENVELOPE}`, undefined, { body: chunked, duplex: "half" } as RequestInit),
      ),
      [400, text],
    );
    let continued = false;
    const waiting = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const request = httpRequest(`${server.url}/cdn-cgi/handler/email?${ENVELOPE}`, {
        method: "POST",
        headers: { expect: "100-continue", "content-length": String(big.length) },
      });
      request.on("continue", () => (continued = true));
      request.on("error", reject);
      request.on("response", async (response) =>
        resolve({ status: response.statusCode!, text: Buffer.concat(await response.toArray()).toString() }),
      );
      request.flushHeaders();
    });
    assert.deepEqual(waiting, { status: 400, text });
    assert.equal(continued, false);
  });

  it("accepts a message just below the limit, streamed through a spool file", async () => {
    const raw = Buffer.concat([Buffer.from(message({ To: "large@example.org" })), Buffer.alloc(1_900_000, 120)]);
    assert.equal((await server.post(raw, "from=ada@example.com&to=large@example.org")).status, 200);
    const event = await server.event((e) => isEmail(e) && e.to === "large@example.org");
    assert.ok(isEmail(event));
    assert.deepEqual(event.logs[0]!.message.slice(1, 3), [raw.length, raw.length]);
  });

  it("accepts mail over SMTP and reports the result to the client", async (t) => {
    const client = mailer(t, server);
    const sent = await client.sendMail({
      from: "ada@example.com",
      to: "smtp@example.org",
      subject: "over SMTP",
      text: "hello",
    });
    assert.deepEqual(sent.accepted, ["smtp@example.org"]);
    const event = await server.event((e) => isEmail(e) && e.to === "smtp@example.org");
    assert.ok(isEmail(event) && event.outcome === "ok");
    await assert.rejects(
      client.sendMail({ from: "ada@example.com", to: "smtp@example.org", subject: "reject", text: "x" }),
      /555.*nope/s,
    );
    await assert.rejects(
      client.sendMail({ from: "ada@example.com", to: "smtp@example.org", subject: "throw", text: "x" }),
      /451/,
    );
  });

  it("reports why a reply was rejected, whether the worker catches the error or not", async () => {
    const send = async (subject: string, to: string) => {
      const id = `<${to}@example.com>`;
      await server.post(
        message({ Subject: subject, To: `${to}@replies.example`, "Message-ID": id }),
        `from=ada@example.com&to=${to}@replies.example`,
      );
      const event = await server.event((e) => isEmail(e) && e.to === `${to}@replies.example`);
      assert.ok(isEmail(event));
      const fix = `Set In-Reply-To to ${id}, the Message-ID of the incoming message. Given: <other@example.com>`;
      return { event, fix };
    };
    const thrown = await send("bad reply", "thrown");
    assert.deepEqual(thrown.event.warnings, []);
    assert.equal(thrown.event.exceptions[0]?.help, `reply() was rejected.\nFix: ${thrown.fix}`);
    const caught = await send("bad reply caught", "caught");
    assert.deepEqual(
      [caught.event.outcome, caught.event.warnings],
      ["ok", [`reply() was rejected: In-Reply-To does not match original Message-ID. ${caught.fix}`]],
    );
  });

  it("writes forwarded messages, replies and sent messages as files and reports their paths", async () => {
    const to = (subject: string) => `from=ada@example.com&to=${subject}@files.example`;
    for (const subject of ["forward", "reply", "send"])
      assert.equal((await server.post(message({ Subject: subject }), to(subject))).status, 200);
    const files = async (subject: string) => {
      const event = await server.event((e) => isEmail(e) && e.to === `${subject}@files.example`);
      assert.ok(isEmail(event));
      assert.equal(event.actions.length, 1, subject);
      return event.actions[0]!.files;
    };
    const [forwarded] = await files("forward");
    assert.match(forwarded!, /\.eml$/);
    assert.match(await readFile(forwarded!, "utf8"), /^X-Seen: yes\r$/im);
    assert.match(await readFile((await files("reply"))[0]!, "utf8"), /^References: </im);
    const sent = await files("send");
    assert.ok(sent[0]!.startsWith(server.mailDir));
    assert.equal(sent.length, 4);
    assert.equal(await readFile(sent[1]!, "utf8"), "all well");
    assert.deepEqual(await readFile(sent[3]!), Buffer.from([0, 1, 2, 255]));
  });

  it("lets a worker forward in waitUntil(), after the response", async () => {
    assert.equal(
      (await server.post(message({ Subject: "late" }), "from=ada@example.com&to=late@wait.example")).status,
      200,
    );
    const event = await server.event((e) => isEmail(e) && e.to === "late@wait.example");
    assert.ok(isEmail(event));
    assert.deepEqual(
      event.actions.map(({ to }) => to),
      [["late@example.net"]],
    );
    assert.deepEqual(event.exceptions, []);
  });

  it("warns if the envelope and headers differ", async () => {
    await server.post(message(), "from=someone@else.example&to=differs@example.org");
    const event = await server.event((e) => isEmail(e) && e.to === "differs@example.org");
    assert.ok(isEmail(event));
    assert.equal(event.warnings.length, 2);
    assert.match(event.warnings[0]!, /MAIL FROM <someone@else\.example>.*ada@example\.com/);
  });

  it("passes all other requests to the fetch handler", async () => {
    assert.deepEqual(await answer(await fetch(`${server.url}/any/path?from=x`)), [200, "fetch handler: /any/path"]);
    assert.equal(
      ((await (await fetch(`${server.url}/cdn-cgi/reelpost/health`)).json()) as { status: string }).status,
      "ok",
    );
  });

  it("counts its operations for Prometheus", async () => {
    const response = await fetch(`${server.url}/cdn-cgi/reelpost/metrics`);
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain/);
    assert.match(
      await response.text(),
      /^reelpost_worker_invocations_total\{worker="[^"]+",event="email",outcome="ok"\} [1-9]/m,
    );
  });
});
