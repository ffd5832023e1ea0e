import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { workerErrors } from "../errors.ts";
import type { InboundMail, Invocation, MailActions, WorkerRuntime } from "../index.ts";
import type { MailBuilderFields } from "../ports.ts";
import { mailOf, noActions, scriptOf, startRuntime } from "./runtime.testing.ts";

describe("a message in a worker", () => {
  let runtime: WorkerRuntime;
  const invocations: Invocation[] = [];
  before(() => {
    runtime = startRuntime();
    runtime.onInvocation((invocation) => void invocations.push(invocation));
  });
  after(() => runtime.close());

  /** Runs an email handler with this body on one message. */
  async function run(body: string, mail: InboundMail = mailOf(), actions: MailActions = noActions) {
    await runtime.deploy(
      scriptOf(
        `import { EmailMessage } from "cloudflare:email";\nexport default { async email(message, env, ctx) { ${body} } }`,
      ),
    );
    return runtime.email("test", mail, actions);
  }
  const saying = (expression: string, mail?: InboundMail) =>
    run(`message.setReject(JSON.stringify(${expression}))`, mail).then(({ rejected }) => JSON.parse(rejected!));

  it("has its envelope, size, headers and bytes", async () => {
    const seen = await saying(
      "[message.from, message.to, message.rawSize, message.canBeForwarded, message.headers.get('subject'), await new Response(message.raw).text()]",
      mailOf("Subject: hi\r\n\r\nbody\r\n"),
    );
    assert.deepEqual(seen, ["a@example.com", "b@example.net", 21, true, "hi", "Subject: hi\r\n\r\nbody\r\n"]);
  });

  it("keeps every value of a repeated field, and non-ASCII text", async () => {
    const headers: [string, string][] = [["To", "one@example.net"], ["To", "two@example.net"], ["X-Name", "Grüße"]]; // prettier-ignore
    assert.deepEqual(
      await saying("[message.headers.get('to'), message.headers.get('x-name')]", mailOf(undefined, { headers })),
      ["one@example.net, two@example.net", "Grüße"],
    );
  });

  it("omits fields that a Headers object cannot hold", async () => {
    assert.deepEqual(await saying("[...message.headers]", mailOf(undefined, { headers: [["bad name", "x"], ["ok", "a\nb"], ["fine", "y"]] })), [["fine", "y"]]); // prettier-ignore
  });

  it("accepts ten thousand header fields", async () => {
    const headers = Array.from({ length: 10_000 }, (_, i): [string, string] => [
      `x-field-${i}`,
      "some value of a usual length",
    ]);
    assert.deepEqual(
      await saying(
        "[[...message.headers].length, await new Response(message.raw).text()]",
        mailOf("Subject: many\r\n\r\n", { headers }),
      ),
      [10_000, "Subject: many\r\n\r\n"],
    );
  });

  it("streams 25 MiB to the worker", async () => {
    const size = 25 * 1024 * 1024;
    const raw = () => Readable.from(Array.from({ length: 400 }, () => Buffer.alloc(65_536, 46)));
    assert.equal(
      await saying(
        "await (async () => { let n = 0; for await (const chunk of message.raw) n += chunk.length; return n; })()",
        mailOf("", { rawSize: size, raw }),
      ),
      size,
    );
  });

  for (const size of [1000, 48 * 1024, 48 * 1024 + 1, 5_000_000]) {
    it(`may be left unread or half read (${size} octets)`, async () => {
      const mail = mailOf("", { rawSize: size, raw: () => Readable.from([Buffer.alloc(size)]) });
      assert.deepEqual(await run("", mail).then(({ outcome, exception }) => [outcome, exception]), ["ok", undefined]);
      assert.deepEqual(
        await run("const reader = message.raw.getReader(); await reader.read(); await reader.cancel()", mail).then(
          ({ outcome, exception }) => [outcome, exception],
        ),
        ["ok", undefined],
      );
    });
  }

  it("is forwarded with headers, and rejections arrive as errors with their code", async () => {
    const requested: unknown[] = [];
    const actions: MailActions = {
      ...noActions,
      async forward(recipient, headers) {
        requested.push([recipient, headers]);
        if (recipient.startsWith("nobody")) throw workerErrors.scriptMissing();
        return { messageId: "<1@reelpost>" };
      },
    };
    const outcome = await run(
      `const sent = await message.forward("x@example.org", new Headers({ "X-Tag": "1" }));
       const refused = await message.forward("nobody@example.org").catch((error) => [error instanceof Error, error.message, error.code]);
       message.setReject(JSON.stringify([sent, refused]));`,
      mailOf(),
      actions,
    );
    assert.deepEqual(JSON.parse(outcome.rejected!), [
      { messageId: "<1@reelpost>" },
      [true, "This Worker does not exist on your account.", 10007],
    ]);
    assert.deepEqual(requested, [["x@example.org", [["x-tag", "1"]]], ["nobody@example.org", []]]); // prettier-ignore
  });

  it("is answered with an EmailMessage or a builder, including binary attachments", async () => {
    const raws: string[] = [];
    const built: MailBuilderFields[] = [];
    const actions: MailActions = {
      ...noActions,
      async reply({ from, to, raw }) {
        raws.push(`${from} ${to} ${await text(raw)}`);
        return { messageId: "<1@reelpost>" };
      },
      async replyBuilt(mail) {
        built.push(mail);
        return { messageId: "<2@reelpost>" };
      },
    };
    const outcome = await run(
      `await message.reply(new EmailMessage(message.to, message.from, "From: b\\r\\n\\r\\nü"));
       await message.reply(new EmailMessage(message.to, message.from, new Response("streamed").body));
       const bytes = new Uint8Array(70_000).fill(7);
       await message.reply({ from: "b@example.net", subject: "re", text: "t", attachments: [{ filename: "a", type: "x/y", content: bytes.buffer }, { content: bytes.subarray(0, 2) }, { content: "YQ==" }] });`,
      mailOf(),
      actions,
    );
    assert.deepEqual([outcome.outcome, outcome.exception], ["ok", undefined]);
    assert.deepEqual(raws, ["b@example.net a@example.com From: b\r\n\r\nü", "b@example.net a@example.com streamed"]);
    assert.deepEqual(built[0], {
      from: "b@example.net",
      subject: "re",
      text: "t",
      attachments: [
        { filename: "a", type: "x/y", content: { base64: Buffer.alloc(70_000, 7).toString("base64") } },
        { content: { base64: "Bwc=" } },
        { content: "YQ==" },
      ],
    });
  });

  it("gets the reason even if a long reply is rejected immediately", async () => {
    const actions: MailActions = { ...noActions, reply: () => Promise.reject(workerErrors.scriptMissing()) };
    const outcome = await run(
      `await message.reply(new EmailMessage("b@example.net", "a@example.com", "x".repeat(8_000_000))).catch((error) => message.setReject(error.message))`,
      mailOf(),
      actions,
    );
    assert.equal(outcome.rejected, "This Worker does not exist on your account.");
  });

  it("accepts actions only until its waitUntil() work has ended", async () => {
    const actions: MailActions = { ...noActions, forward: async () => ({ messageId: "<1@reelpost>" }) };
    const outcome = await run(
      `globalThis.kept = message; ctx.waitUntil(scheduler.wait(50).then(() => message.forward("late@example.org")).then((sent) => console.log("late", sent)))`,
      mailOf(),
      actions,
    );
    assert.ok(outcome.waitUntilSettled);
    await outcome.ended;
    assert.deepEqual(
      invocations.at(-1)!.logs.map((log) => log.message),
      [["late", { messageId: "<1@reelpost>" }]],
    );
    // The runtime forbids I/O of another event anyway, so the test uses the token directly.
    const stolen = await run(
      `message.setReject(await fetch("http://actions.reelpost.internal/forward", { method: "POST", headers: { "x-reelpost-message": "guess" }, body: "{}" }).then(async (r) => r.status + await r.text()))`,
    );
    assert.equal(stolen.waitUntilSettled, undefined);
    assert.match(stolen.rejected!, /^410.*its event has ended/);
  });

  it("accepts only well-formed actions, whatever a worker sends with its own token", async () => {
    const requested: unknown[] = [];
    const actions: MailActions = {
      ...noActions,
      forward: async (...args) => (requested.push(args), { messageId: "<1@reelpost>" }),
    };
    await runtime.deploy(
      scriptOf(`let token; const parse = JSON.parse; JSON.parse = (text) => { const value = parse(text); token = value.token; return value };
      export default { async email() { for (const body of ["null", '{"recipient":"x@y","headers":5}', '{"recipient":"x@y","headers":[[1,2],null]}']) await fetch("http://actions.reelpost.internal/forward", { method: "POST", headers: { "x-reelpost-message": token }, body }) } }`),
    );
    await runtime.email("test", mailOf(), actions);
    assert.deepEqual(requested, [["undefined", []], ["x@y", []], ["x@y", [["1", "2"], ["", ""]]]]); // prettier-ignore
  });

  it("may also wait with the imported waitUntil()", async () => {
    const actions: MailActions = { ...noActions, forward: async () => ({ messageId: "<1@reelpost>" }) };
    const source = `import { waitUntil } from "cloudflare:workers"; export default { email(message) { waitUntil(scheduler.wait(50).then(() => message.forward("late@example.org")).then(() => console.log("sent"))) } }`;
    for (const content of [source, Buffer.from(source)]) {
      await runtime.deploy(scriptOf("", { modules: [{ name: "index.js", kind: "esm", content }] }));
      const outcome = await runtime.email("test", mailOf(), actions);
      assert.ok(outcome.waitUntilSettled);
      await outcome.ended;
      assert.deepEqual(
        invocations.at(-1)!.logs.map((log) => log.message),
        [["sent"]],
      );
    }
  });

  it("needs no waitUntil() tracking if the script imports only other names", async () => {
    const rest = `export default { email() {}, fetch(request, env, ctx) { ctx.waitUntil(1) } }`;
    for (const [statement, mayWait] of [
      [`import { env as e, WorkerEntrypoint } from "cloudflare:workers";`, false],
      [`import{env}from"cloudflare:workers";import"cloudflare:workers";`, false],
      [`import * as workers from "cloudflare:workers";`, true],
      [`import { env, waitUntil as w } from "cloudflare:workers";`, true],
      [`export { waitUntil } from "cloudflare:workers";`, true],
    ] as const) {
      await runtime.deploy(scriptOf(`${statement} ${rest}`));
      const { waitUntilSettled, ended } = await runtime.email("test", mailOf(), noActions);
      assert.equal(waitUntilSettled !== undefined, mayWait, statement);
      await ended;
    }
  });

  it("an invocation without logs ends when the handler returns", async () => {
    invocations.length = 0;
    await (
      await run("")
    ).ended;
    assert.deepEqual(invocations.map(({ outcome, logs, event }) => [outcome, logs, event.kind]), [["ok", [], "email"]]); // prettier-ignore
  });

  it("reports what the handler threw, with source positions", async () => {
    const outcome = await run(`throw new RangeError("no such thing")`);
    assert.equal(outcome.outcome, "exception");
    assert.equal(outcome.exception!.name, "RangeError");
    assert.equal(outcome.exception!.message, "no such thing");
    assert.match(outcome.exception!.stack!, /at Object\.email \(index\.js:2:\d+\)$/);
  });

  it("can be rejected or can fail with texts of any length", async () => {
    assert.equal((await run(`message.setReject("x".repeat(2_000_000))`)).rejected?.length, 65_536);
    assert.equal((await run(`throw new Error("x".repeat(2_000_000))`)).exception?.message.length, 65_536);
  });

  it("collects logs and unhandled rejections of one event, in order", async () => {
    const outcome = await run(
      `console.log("a", { b: 1 }); console.warn("c"); Promise.reject(new Error("nobody listens")); await scheduler.wait(1); console.error("d");`,
    );
    await outcome.ended;
    const logs = invocations.at(-1)!.logs.map(({ level, message }) => [level, ...message]);
    const [[unhandled], rest] = [logs.splice(2, 1), logs];
    assert.deepEqual(rest, [["log", "a", { b: 1 }], ["warn", "c"], ["error", "d"]]); // prettier-ignore
    assert.match(String(unhandled), /^error,Unhandled promise rejection:,Error: nobody listens/);
  });

  it("reaches a class, and a script in service-worker format", async () => {
    await runtime.deploy(
      scriptOf(
        `import { WorkerEntrypoint } from "cloudflare:workers"; export default class extends WorkerEntrypoint { email(message) { message.setReject("class " + this.env.NAME) } }`,
        { bindings: [{ type: "plain_text", name: "NAME", text: 'quo"te\\u0041 ü\n\u0001' }] },
      ),
    );
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, 'class quo"te\\u0041 ü\n\u0001');
    await runtime.deploy(
      scriptOf(
        `addEventListener("email", (event) => { event.waitUntil(scheduler.wait(1).then(() => event.message.setReject("service worker " + NAME))) })`,
        { format: "service-worker", bindings: [{ type: "plain_text", name: "NAME", text: "x" }] },
      ),
    );
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "service worker x");
  });

  it("that fails in service-worker format reports positions in the script", async () => {
    await runtime.deploy(
      scriptOf(`\naddEventListener("email", () => {\n  throw new Error("here") })`, { format: "service-worker" }),
    );
    assert.match(
      (await runtime.email("test", mailOf(), noActions)).exception!.stack!,
      /^Error: here\n +at index\.js:3:\d+$/,
    );
  });

  it("reports an exception whatever its stack and the source map contain", async () => {
    const throwing = `throw new Error("here")`;
    await runtime.deploy(
      scriptOf(`Error.prepareStackTrace = (error, places) => places; export default { email() { ${throwing} } }`),
    );
    assert.equal((await runtime.email("test", mailOf(), noActions)).exception!.message, "here");
    await runtime.deploy(scriptOf(`export default { email() { ${throwing} } }`, { sourceMap: "{nonsense" }));
    assert.match((await runtime.email("test", mailOf(), noActions)).exception!.stack!, /index\.js:1:\d+/);
  });

  it("reports a worker without an email handler", async () => {
    await runtime.deploy(scriptOf(`export default { fetch: () => new Response("") }`));
    assert.equal(
      (await runtime.email("test", mailOf(), noActions)).exception!.message,
      "Handler does not export an email() function",
    );
  });
});
