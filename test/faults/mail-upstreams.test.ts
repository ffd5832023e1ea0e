import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { atFirst, startNextHop, type Misbehavior, type NextHop } from "../support/next-hop.ts";
import {
  plainMessage,
  sendRaw,
  SENDER_DOMAIN,
  startMailFixture,
  until,
  untilDelivered,
  type MailFixture,
} from "../support/mail-world.ts";

/**
 * The next hop fails in various ways while a message is in transit: the message still arrives, and its sender gets a
 * reply in time.
 */

async function behind(
  t: TestContext,
  misbehave: Misbehavior,
  { extensions, env = {}, password }: { extensions?: string[]; env?: Record<string, string>; password?: string } = {},
): Promise<{
  world: MailFixture;
  hop: NextHop;
  send: (subject: string, more?: { from?: string; to?: string[] }) => Promise<string>;
}> {
  let armed = false;
  const hop = await startNextHop(
    t,
    (command, socket) =>
      armed ? misbehave(command, socket) : command === "STARTTLS" ? "454 4.7.0 not yet" : undefined,
    extensions && { extensions },
  );
  const world = await startMailFixture(t, {
    nextPort: hop.port,
    env: {
      ...env,
      ...(password !== undefined && { REELPOST_OUTBOUND_SMART_HOSTS: `smtp://user:${password}@127.0.0.1:${hop.port}` }),
    },
  });
  for (const name of ["bob", "carol"]) {
    await world.destination(`${name}@there.example`);
    await world.rule(name, "forward", `${name}@there.example`);
  }
  // Waits until the server has noted the delivery of the verification mail for the addresses: from here on, only test
  // mail is in transit, on new connections.
  if (password === undefined) await untilDelivered(world.api);
  hop.taken.length = hop.commands.length = 0;
  hop.hangUp();
  armed = true;
  return {
    world,
    hop,
    send: (subject, { from, to = ["bob@routed.example"] } = {}) =>
      sendRaw(world.server.smtp!.port, { to, raw: plainMessage(subject), ...(from !== undefined && { from }) }),
  };
}

const acknowledged = ({ taken }: NextHop) => taken.filter((one) => one.acknowledged);
const stepsOf = (events: { step: string }[]) =>
  events.map(({ step }) => step).filter((step) => ["deferred", "delivered", "bounced"].includes(step));

describe("the next hop", { concurrency: 5 }, () => {
  for (const [what, misbehave, more] of [
    ["drops the connection after the final dot", atFirst(2, ".", "drop"), 2],
    ["defers the message with 4xx", atFirst(2, ".", "451 4.7.1 later"), 2],
    ["defers the recipient with 4xx", atFirst(2, "RCPT", "450 4.2.0 greylisted"), 0],
    ["greets with 421", atFirst(2, "connect", "421 4.3.2 too busy"), 0],
    ["drops the connection at DATA", atFirst(2, "DATA", "drop"), 0],
  ] as const) {
    test(`${what}, twice: the sender gets 250, and the message arrives`, async (t) => {
      const { world, hop, send } = await behind(t, misbehave);
      assert.match(await send("patience"), /^250 /);
      const { events } = await world.entry("patience", ({ status }) => status === "delivered");
      assert.deepEqual(stepsOf(events), ["deferred", "deferred", "delivered"]);
      assert.equal(acknowledged(hop).length, 1, JSON.stringify(hop.taken));
      // If it is unknown whether a message was accepted, it is sent again, to the same server only.
      assert.equal(hop.taken.length, 1 + more);
    });
  }

  test("drops the connection after the final dot, without a queue for forwards: the message remains with the sender, which retries", async (t) => {
    const { world, hop, send } = await behind(t, atFirst(1, ".", "drop"), {
      env: { REELPOST_OUTBOUND_FORWARD: "proxy" },
    });
    assert.match(await send("kept"), /^451 4\.4\.2 /);
    assert.equal(
      (await world.entry("kept", ({ status }) => status === "deferred")).deliveries.at(-1)!.status,
      "deferred",
    );
    assert.match(await send("kept"), /^250 /);
    assert.deepEqual([hop.taken.length, acknowledged(hop).length], [2, 1]);
  });

  test("defers one of two recipients, without a queue for forwards: the sender gets 250, and each recipient gets the message once", async (t) => {
    let left = 2;
    const { world, hop, send } = await behind(
      t,
      (command) =>
        command.startsWith("RCPT") && command.includes("<carol@") && left-- > 0 ? "451 4.2.0 greylisted" : undefined,
      { env: { REELPOST_OUTBOUND_FORWARD: "proxy" } },
    );
    assert.match(await send("mixed", { to: ["bob@routed.example", "carol@routed.example"] }), /^250 /);
    await until(() => acknowledged(hop).length >= 2 || undefined, "both messages");
    assert.deepEqual(
      acknowledged(hop)
        .map(({ to }) => to.join())
        .sort(),
      ["bob@there.example", "carol@there.example"],
    );
    const statuses = () =>
      world.api
        .ok("get", "email/activity?kind=routing&search=mixed")
        .then((found: { status: string }[]) => found.map(({ status }) => status).join());
    await until(async () => (await statuses()) === "delivered,delivered" || undefined, "both log entries");
  });

  for (const [where, command] of [
    ["before its greeting", "connect"],
    ["at RCPT", "RCPT"],
    ["after the final dot", "."],
  ] as const) {
    test(`hangs ${where}: the sender gets a reply within a minute, and the message arrives later`, async (t) => {
      const { world, hop, send } = await behind(t, atFirst(1, command, "hang"));
      const begun = performance.now();
      assert.match(await send("slow"), /^250 /);
      // SMTP's own time limits are five and ten minutes (RFC 5321 4.5.3.2).
      assert.ok(performance.now() - begun < 60_000, `${performance.now() - begun} ms`);
      await world.entry("slow", ({ status }) => status === "delivered");
      assert.equal(acknowledged(hop).length, 1);
    });
  }

  const garbage: Misbehavior = (_, socket) => {
    socket.write("220 2.0.0 go\r\n");
    socket.once("data", () => void socket.write("500 5.5.1 what do you mean\r\n"));
    return "hang";
  };
  for (const [how, onStartTls] of [
    ["closes the connection", () => "drop"],
    ["says 454", () => "454 4.7.0 no TLS now"],
    ["accepts and continues in plaintext", garbage],
  ] as [string, Misbehavior][]) {
    const extensions = ["STARTTLS", "AUTH PLAIN LOGIN"];
    const misbehave: Misbehavior = (command, socket) =>
      command === "STARTTLS" ? onStartTls(command, socket) : undefined;

    test(`${how} at STARTTLS: mail is sent unencrypted`, async (t) => {
      const { world, hop, send } = await behind(t, misbehave, { extensions });
      assert.match(await send("bare"), /^250 /);
      await world.entry("bare", ({ status }) => status === "delivered");
      assert.equal(acknowledged(hop).length, 1);
    });

    test(`${how} at STARTTLS: no password is sent unencrypted, and the message waits`, async (t) => {
      const { world, hop, send } = await behind(t, misbehave, { extensions, password: "s3cret-pass" });
      assert.match(await send("sealed"), /^250 /);
      const { deliveries } = await world.entry("sealed", ({ status }) => ["deferred", "queued"].includes(status));
      assert.match(deliveries[0]!.response!, /TLS|is paused/);
      assert.deepEqual([hop.taken.length, hop.commands.filter((command) => /^(AUTH|MAIL)/i.test(command))], [0, []]);
    });
  }

  test("rejects one of several recipients: the others get the message, and the sender gets 250, and a bounce unless the sender is null", async (t) => {
    const { world, hop, send } = await behind(t, (command) =>
      command.startsWith("RCPT") && command.includes("<carol@") ? "550 5.1.1 no such user" : undefined,
    );
    const both = ["bob@routed.example", "carol@routed.example"];
    assert.match(await send("partly", { to: both }), /^250 /);
    const report = await until(() => hop.taken.find(({ to }) => to[0] === `ada@${SENDER_DOMAIN}`), "the report");
    assert.equal(report.from, "");
    assert.match(report.raw, /Final-Recipient: rfc822; ?carol@routed\.example[^]*550 5\.1\.1 no such user/);
    assert.doesNotMatch(report.raw, /Final-Recipient: rfc822; ?bob@/);
    const statuses = async (subject: string) => {
      const found: { to: string; status: string }[] = await world.api.ok(
        "get",
        `email/activity?kind=routing&search=${subject}`,
      );
      return found.map(({ to, status }) => `${to} ${status}`).sort();
    };
    const expected = ["bob@routed.example delivered", "carol@routed.example deliveryFailed"];
    const logged = (subject: string) =>
      until(async () => (await statuses(subject)).join() === expected.join() || undefined, `the log of ${subject}`);
    await logged("partly");

    assert.match(await send("nobody's", { from: "", to: both }), /^250 /);
    await logged("nobody%27s");
    assert.deepEqual(
      hop.taken.filter(({ to }) => to.includes("")),
      [],
    );
    assert.match(await send("alone", { to: ["carol@routed.example"] }), /^550 5\.1\.1 no such user/);
    assert.equal(hop.taken.filter(({ to }) => to[0] === `ada@${SENDER_DOMAIN}`).length, 1);
  });
});
