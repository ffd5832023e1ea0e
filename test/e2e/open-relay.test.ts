import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createTransport } from "nodemailer";
import { rawClient } from "../../src/mail/mail.testing.ts";
import { startNextHop, type NextHop } from "../support/next-hop.ts";
import {
  plainMessage,
  sendRaw,
  SENDER_DOMAIN,
  startMailFixture,
  until,
  type MailFixture,
} from "../support/mail-world.ts";
import { createScope } from "./dev-bench.ts";
import { createApi } from "./serve-client.ts";

/**
 * The platform neither relays mail to destinations outside its accounts' rules nor sends mail as a domain that is not
 * its own.
 */

const OURS = "routed.example";
const FOREIGN = "victim.example";
const ACCOUNT = "com.cloudflare.api.account";

const PATHS = [
  `x@${FOREIGN}`,
  `X@${FOREIGN.toUpperCase()}`,
  `x@${FOREIGN}.`,
  `x%${FOREIGN}@${OURS}`,
  `${FOREIGN}!x@${OURS}`,
  `"x@${FOREIGN}"@${OURS}`,
  `"x%${FOREIGN}"@${OURS}`,
  `x@${FOREIGN}@${OURS}`,
  `x@${OURS}@${FOREIGN}`,
  `@${OURS}:x@${FOREIGN}`,
  `@${OURS},@other.example:x@${FOREIGN}`,
  `@${FOREIGN}:x@${OURS}`,
  `"x"@${FOREIGN}`,
  `x@[127.0.0.1]`,
  `x@[192.0.2.1]`,
  `x@[IPv6:::1]`,
  `x@localhost`,
  `x@${FOREIGN}\\@${OURS}`,
  `x@sub.${OURS}`,
  `x@mx.${OURS}`,
  `x@fwd.${OURS}`,
  `x@rp-bounce.${OURS}`,
  `x@${OURS}.${FOREIGN}`,
  `x+${FOREIGN}@${OURS}`,
  `x/${FOREIGN}@${OURS}`,
  `x`,
  `x@`,
  `@${OURS}`,
  `""@${OURS}`,
  `SRS0=AAAAAAAA=BB=${FOREIGN}=x@fwd.${OURS}`,
  `SRS1=AAAAAAAA=${FOREIGN}==BBBB=CC=other.example=x@fwd.${OURS}`,
  `SRS0=AAAAAAAA=BB=${FOREIGN}=x@${OURS}`,
  `bounce-${"a".repeat(32)}@fwd.${OURS}`,
];

describe("the platform is not an open relay", () => {
  const scope = createScope();
  let world: MailFixture;
  let hop: NextHop;
  let stranger: string;

  before(async () => {
    hop = await startNextHop(scope);
    world = await startMailFixture(scope, { nextPort: hop.port, domain: OURS });
    await world.destination("bob@there.example");
    await world.rule("info", "forward", "bob@there.example");
    await world.api.ok("post", `/zones/${world.zone}/email/sending/subdomains`, { body: { name: OURS } });
    await until(() => hop.taken.length > 0 || undefined, "the verification email");
    hop.taken.length = 0;
    stranger = await tokenOf((await world.api.ok("post", "/accounts", { body: { name: "Other" } })).id);
  });
  after(() => scope.close());

  /** Resolves with a token with every permission within one account, and none outside it. */
  async function tokenOf(account: string): Promise<string> {
    const groups: { id: string; scopes: string[] }[] = await world.api.ok("get", "/user/tokens/permission_groups");
    const of = (scope: string) => groups.filter(({ scopes }) => scopes[0] === scope).map(({ id }) => ({ id }));
    const policies = [
      { effect: "allow", permission_groups: of(ACCOUNT), resources: { [`${ACCOUNT}.${account}`]: "*" } },
      {
        effect: "allow",
        permission_groups: of(`${ACCOUNT}.zone`),
        resources: { [`${ACCOUNT}.${account}`]: { [`${ACCOUNT}.zone.*`]: "*" } },
      },
    ];
    return (await world.api.ok("post", "/user/tokens", { body: { name: "all of one account", policies } })).value;
  }

  for (const from of [`ada@${SENDER_DOMAIN}`, "", `info@${OURS}`, `x@${FOREIGN}`]) {
    test(`mail from <${from}> is relayed to no other host by any recipient path`, async () => {
      const answers = await Promise.all(
        PATHS.map(
          async (to) => [to, await sendRaw(world.server.smtp!.port, { from, to, raw: plainMessage("relay") })] as const,
        ),
      );
      assert.deepEqual(
        answers.filter(([, answer]) => !/^5\d\d 5\.\d+\.\d+ /.test(answer)),
        [],
      );
      assert.deepEqual(hop.taken, []);
    });
  }

  test("mail accepted by a catch-all rule only goes to the target of the rule", async () => {
    await world.rule("*", "forward", "bob@there.example");
    try {
      const answers = await Promise.all(
        PATHS.map(
          async (to) => [to, await sendRaw(world.server.smtp!.port, { to, raw: plainMessage("caught") })] as const,
        ),
      );
      const taken = answers.filter(([, answer]) => answer.startsWith("250")).map(([to]) => to);
      assert.deepEqual(
        taken.filter((to) => !to.endsWith(`@${OURS}`)),
        [],
      );
      assert.ok(taken.includes(`x%${FOREIGN}@${OURS}`), taken.join(" "));
      await until(() => hop.taken.length >= taken.length || undefined, "all accepted messages");
      assert.deepEqual([...new Set(hop.taken.flatMap(({ to }) => to))], ["bob@there.example"]);
    } finally {
      await world.rule("*", "drop");
      hop.taken.length = 0;
    }
  });

  async function submit(token: string | undefined, from: string, to = `x@${FOREIGN}`): Promise<string> {
    const { host, port } = world.server.submission!;
    const transport = createTransport({
      host,
      port,
      secure: true,
      tls: { rejectUnauthorized: false },
      ...(token !== undefined && { auth: { user: "api_token", pass: token } }),
    });
    try {
      return (await transport.sendMail({ envelope: { from, to }, raw: plainMessage("submitted", { from }) })).response;
    } catch (err) {
      return (err as { response?: string }).response ?? String(err);
    } finally {
      transport.close();
    }
  }

  test("submission is rejected without a token and for a domain of another account", async () => {
    assert.match(await submit(undefined, `info@${OURS}`), /^530 5\.7\.0 /);
    assert.match(await submit("not-a-token-of-anybody-0123456789-abcdefg", `info@${OURS}`), /^535 5\.7\.8 /);
    assert.match(await submit(stranger, `info@${OURS}`), /^550 5\.7\.1 Sender denied/);
    assert.match(await submit(await ownToken(), `x@${FOREIGN}`), /^550 5\.7\.1 Sender denied/);
    assert.match(await submit(await ownToken(), ""), /^55\d 5\.7\.1 /);
    assert.deepEqual(hop.taken, []);
    // An authorized submission is accepted.
    assert.match(await submit(await ownToken(), `info@${OURS}`), /^250 2\.0\.0 /);
    await until(() => hop.taken.find(({ to }) => to[0] === `x@${FOREIGN}`), "the permitted message");
    hop.taken.length = 0;
  });

  const ownToken = () => tokenOf(world.api.account);

  test("REST rejects sending as a domain of another account, as a domain without Email Sending, and through another account", async () => {
    const mail = (from: string) => ({ from, to: `y@${FOREIGN}`, subject: "rest", text: "hello" });
    const raw = (from: string, author: string) => ({
      from,
      recipients: [`y@${FOREIGN}`],
      mime_message: plainMessage("rest", { from: author }),
    });
    const theirs = createApi({ ...world.server, account: { id: world.api.account } }, stranger);
    const refused: [string, number][] = [];
    for (const from of [
      `x@${FOREIGN}`,
      `ada@${SENDER_DOMAIN}`,
      `x@sub.${OURS}`,
      `x@${OURS}.${FOREIGN}`,
      `x%${OURS}@${FOREIGN}`,
    ])
      refused.push([from, (await world.api.refused("post", "email/sending/send", { body: mail(from) }))[0]]);
    for (const [from, author] of [
      [`x@${FOREIGN}`, `x@${FOREIGN}`],
      [`info@${OURS}`, `x@${FOREIGN}`],
      [`x@${FOREIGN}`, `info@${OURS}`],
    ] as const)
      refused.push([
        `${from} ${author}`,
        (await world.api.refused("post", "email/sending/send_raw", { body: raw(from, author) }))[0],
      ]);
    assert.deepEqual(
      refused.filter(([, status]) => status < 400 || status >= 500),
      [],
    );
    assert.equal((await theirs.refused("post", "email/sending/send", { body: mail(`info@${OURS}`) }))[0], 403);
    assert.deepEqual(hop.taken, []);
    assert.equal((await world.api.call("post", "email/sending/send", { body: mail(`info@${OURS}`) })).status, 200);
  });

  test("the incoming mail port offers no AUTH, and the log shows the rejections", async () => {
    const client = await rawClient(world.server.smtp!.port);
    await client.reply();
    assert.doesNotMatch(await client.say("EHLO client.example\r\n"), /AUTH/);
    assert.match(
      await client.say(`AUTH PLAIN ${Buffer.from(`\0api_token\0${await ownToken()}`).toString("base64")}\r\n`),
      /^5/,
    );
    client.socket.destroy();
    const entries: { from: string; to: string; status: string; error_detail: string }[] = await world.api.ok(
      "get",
      `email/activity?status=rejected&to=${encodeURIComponent(`x%${FOREIGN}@${OURS}`)}`,
    );
    assert.equal(entries.length, 4);
    assert.ok(
      entries.every(({ error_detail: why }) => why.startsWith("550 5.1.1 ")),
      JSON.stringify(entries),
    );
    // The recipient's domain belongs to no account, so no account's log contains the message.
    assert.deepEqual(
      await world.api.ok("get", `email/activity?kind=routing&to=${encodeURIComponent(`x@${FOREIGN}`)}`),
      [],
    );
  });
});
