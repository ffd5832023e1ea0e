import assert from "node:assert/strict";
import { isAscii } from "node:buffer";
import { after, before, describe, test } from "node:test";
import { createScope } from "../e2e/dev-bench.ts";
import {
  skipWithout,
  runTool,
  startPostfixSink,
  createVerifiers,
  type PostfixSink,
  type Verifiers,
} from "../support/mail-tools.ts";
import { SENDER_DOMAIN, startMailFixture, until, type MailFixture } from "../support/mail-world.ts";

/** A Reelpost server before a next hop without 8BITMIME (RFC 6152), Postfix's smtp-sink, with dkimverify behind it. */
describe(
  "a next hop without 8BITMIME",
  { skip: skipWithout("swaks", "smtp-sink", "dkimverify", "arcverify", "opendkim") },
  () => {
    const scope = createScope();
    let world: MailFixture;
    let sink: PostfixSink;
    let verify: Verifiers;

    before(async () => {
      sink = await startPostfixSink(scope, { eightBitMime: false });
      world = await startMailFixture(scope, { nextPort: sink.port });
      verify = await createVerifiers(scope, world.server.dns!.port, ["routed.example", SENDER_DOMAIN]);
      await world.destination("bob@there.example");
      await world.rule("info", "forward", "bob@there.example");
    });
    after(() => scope.close());

    test("receives a forward as 7-bit data signed with the routed domain", async () => {
      const { code, output } = await runTool("swaks", [
        "--server",
        `127.0.0.1:${world.server.smtp!.port}`,
        "--helo",
        `client.${SENDER_DOMAIN}`,
        "--from",
        `ada@${SENDER_DOMAIN}`,
        "--to",
        "info@routed.example",
        "--h-Subject",
        "eight bits",
        "--add-header",
        "MIME-Version: 1.0",
        "--add-header",
        "Content-Type: text/plain; charset=utf-8",
        "--add-header",
        "Content-Transfer-Encoding: 8bit",
        "--body",
        "Grüße aus Köln",
      ]);
      assert.equal(code, 0, output);
      const got = await until(
        async () => (await sink.messages()).find((raw) => raw.includes("\nSubject: eight bits\n")),
        "the forwarded message",
      );
      assert.ok(isAscii(Buffer.from(got, "latin1")), got);
      assert.match(got, /\nContent-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe aus K=C3=B6ln\n/);
      assert.equal(await verify.dkimverify(got, 1), true, got);
    });
  },
);
