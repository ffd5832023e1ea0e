import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createScope } from "../e2e/dev-bench.ts";
import { TOKEN } from "../e2e/serve-client.ts";
import {
  skipWithout,
  runTool,
  startPostfixSink,
  createVerifiers,
  type PostfixSink,
  type Verifiers,
} from "../support/mail-tools.ts";
import { SENDER_DOMAIN, startMailFixture, until, type MailFixture } from "../support/mail-world.ts";

/**
 * The full path of a message through third-party programs: the sender, the receiver of forwards, and the verifiers that
 * look up the keys in Reelpost's DNS.
 */

const FORWARDS = "fwd.routed.example";

describe(
  "third-party mail programs",
  {
    skip: skipWithout(
      "swaks",
      "smtp-sink",
      "smtp-source",
      "posttls-finger",
      "dkimverify",
      "arcverify",
      "opendkim",
      "dig",
      "kdig",
    ),
  },
  () => {
    const scope = createScope();
    let world: MailFixture;
    let sink: PostfixSink;
    let verify: Verifiers;
    let forwarded: string;

    before(async () => {
      sink = await startPostfixSink(scope);
      world = await startMailFixture(scope, { nextPort: sink.port });
      verify = await createVerifiers(scope, world.server.dns!.port, ["routed.example", SENDER_DOMAIN]);
      await world.destination("bob@there.example");
      await world.rule("info", "forward", "bob@there.example");
      await world.rule("load", "forward", "bob@there.example");
    });
    after(() => scope.close());

    const at = () => `127.0.0.1:${world.server.smtp!.port}`;

    test("swaks sends over STARTTLS, and smtp-sink receives the message forwarded by a rule", async () => {
      const { code, output } = await runTool("swaks", [
        "--server",
        at(),
        "--helo",
        `client.${SENDER_DOMAIN}`,
        "--from",
        `ada@${SENDER_DOMAIN}`,
        "--to",
        "info@routed.example",
        "--tls",
        "--h-Subject",
        "by swaks",
        "--body",
        "first\n.dot\n\nlast  line \n\n\n",
      ]);
      assert.equal(code, 0, output);
      assert.match(output, /TLS started with cipher TLSv1\.3/);
      forwarded = await until(
        async () => (await sink.messages()).find((raw) => raw.includes("\nSubject: by swaks\n")),
        "the forwarded message",
      );
      assert.match(forwarded, /^X-Mail-Args: <SRS0=[^@]+@fwd\.routed\.example>/m);
      assert.match(forwarded, /^X-Rcpt-Args: <bob@there\.example>/m);
      assert.match(forwarded, /^Received: from client\.sender\.example [^]*?with ESMTPS id/m);
      const { deliveries, spf } = await world.entry("by swaks", ({ status }) => status === "delivered");
      assert.deepEqual(
        [spf, deliveries.map(({ to, code: said }) => [to, said])],
        ["pass", [["bob@there.example", 250]]],
      );
    });

    test("after the doctor's advice is followed, dkimverify, arcverify and OpenDKIM verify every signature and the seal", async () => {
      assert.equal(await verify.dkimverify(forwarded, 0), false, "the key is not published yet");
      assert.equal(
        await verify.dkimverify(forwarded, 1),
        true,
        "the records of the routed domain are created automatically",
      );
      const keyOf = async () => {
        const found: { check: string; status: string; expected?: string }[] = await world.api.ok(
          "get",
          `/zones/${world.zone}/email/doctor`,
        );
        return found.find(({ check }) => /^DKIM .* of fwd\.routed\.example$/.test(check))!;
      };
      const missing = await keyOf();
      assert.equal(missing.status, "error");
      const [, name, content] = /^(\S+) TXT (.*)$/.exec(missing.expected!)!;
      assert.ok(name!.endsWith(`._domainkey.${FORWARDS}`));
      await world.api.ok("post", `/zones/${world.zone}/dns_records`, { body: { type: "TXT", name, content, ttl: 60 } });
      await until(async () => (await keyOf()).status === "ok" || undefined, "the doctor to see the key");

      assert.deepEqual(await Promise.all([0, 1].map((index) => verify.dkimverify(forwarded, index))), [true, true]);
      assert.equal(await verify.arcverify(forwarded), "arc verification: cv=b'pass' success");
      const { code, output } = await verify.opendkim(forwarded);
      assert.equal(code, 0, output);
      assert.match(output, /verification \(s=reelpost-forward, d=fwd\.routed\.example[^)]*\) succeeded/);
      for (const changed of [
        forwarded.replace("Subject: by swaks", "Subject: by others"),
        forwarded.replace("last  line", "lost line"),
      ]) {
        assert.deepEqual(await Promise.all([0, 1].map((index) => verify.dkimverify(changed, index))), [false, false]);
        assert.match(await verify.arcverify(changed), /cv=b'fail'/);
        assert.doesNotMatch((await verify.opendkim(changed)).output, /succeeded/);
      }
    });

    test("swaks submits a message, which is DKIM-signed for its domain, and a bounce suppresses the recipient", async () => {
      await world.api.ok("post", `/zones/${world.zone}/email/sending/subdomains`, { body: { name: "routed.example" } });
      const submit = (subject: string) => {
        const { port } = world.server.submission!;
        return runTool("swaks", [
          "--server",
          `127.0.0.1:${port}`,
          "--tls-on-connect",
          "--auth",
          "PLAIN",
          "--auth-user",
          "api_token",
          "--auth-password",
          TOKEN,
          "--from",
          "news@routed.example",
          "--to",
          "gone@there.example",
          "--h-Subject",
          subject,
          "--body",
          "news",
        ]);
      };
      const { code, output } = await submit("submitted");
      assert.equal(code, 0, output);
      const sent = await until(
        async () => (await sink.messages()).find((raw) => raw.includes("\nSubject: submitted\n")),
        "the submitted message",
      );
      assert.equal(await verify.dkimverify(sent, 0), true);
      assert.match(
        (await verify.opendkim(sent)).output,
        /verification \(s=rp-bounce, d=routed\.example[^)]*\) succeeded/,
      );

      const back = /^X-Mail-Args: <([^>]+@rp-bounce\.routed\.example)>/m.exec(sent)![1]!;
      const report = [
        "From: MAILER-DAEMON@there.example",
        `To: ${back}`,
        "Subject: Undelivered",
        "MIME-Version: 1.0",
        "Content-Type: multipart/report; report-type=delivery-status; boundary=b",
        "",
        "--b",
        "Content-Type: text/plain",
        "",
        "sorry",
        "--b",
        "Content-Type: message/delivery-status",
        "",
        "Reporting-MTA: dns; mx.there.example",
        "",
        "Final-Recipient: rfc822; gone@there.example",
        "Action: failed",
        "Status: 5.1.1",
        "Diagnostic-Code: smtp; 550 5.1.1 no such user",
        "",
        "--b--",
        "",
      ];
      const bounce = await runTool("swaks", [
        "--server",
        at(),
        "--helo",
        "mx.there.example",
        "--from",
        "<>",
        "--to",
        back,
        "--data",
        report.join("\\n"),
      ]);
      assert.equal(bounce.code, 0, bounce.output);
      const { events } = await world.entry("submitted", ({ status }) => status === "deliveryFailed");
      assert.match(JSON.stringify(events), /no such user/);
      await until(
        async () =>
          (await world.api.ok("get", "email/sending/suppressions")).find(
            ({ email }: { email: string }) => email === "gone@there.example",
          ),
        "the suppression",
      );
      // Later submissions to that recipient get no error, and nothing is sent.
      assert.equal((await submit("once more")).code, 0);
      assert.equal((await world.entry("once more", ({ status }) => status !== "sent")).deliveries.length, 0);
      assert.equal(
        (await sink.messages()).some((raw) => raw.includes("\nSubject: once more\n")),
        false,
      );
    });

    test("posttls-finger finds up-to-date TLS", async () => {
      const { code, output } = await runTool("posttls-finger", [
        "-c",
        "-l",
        "encrypt",
        "-g",
        "high",
        `[127.0.0.1]:${world.server.smtp!.port}`,
      ]);
      assert.equal(code, 0, output);
      assert.match(output, /TLS connection established to \S+: TLSv1\.3 with cipher/);
    });

    test("four hundred concurrent messages from smtp-source are each forwarded exactly once", async () => {
      const count = 400;
      const { code, output } = await runTool("smtp-source", [
        "-s",
        "20",
        "-m",
        String(count),
        "-l",
        "4000",
        "-f",
        `load@${SENDER_DOMAIN}`,
        "-t",
        "load@routed.example",
        at(),
      ]);
      assert.equal(code, 0, output);
      const ids = async () =>
        (await sink.messages()).flatMap((raw) =>
          /^X-Mail-Args: <SRS0=[^>]*=load@/m.test(raw) ? [/^Message-Id: (\S+)/im.exec(raw)![1]!] : [],
        );
      await until(async () => (await ids()).length >= count || undefined, "all messages");
      assert.equal((await ids()).length, count);
      assert.equal(new Set(await ids()).size, count);
    });

    for (const program of ["dig", "kdig"]) {
      test(`${program} sees the zone as it was created through the API`, async () => {
        const ask = async (...words: string[]) =>
          (
            await runTool(program, ["@127.0.0.1", "-p", String(world.server.dns!.port), "+time=5", "+short", ...words])
          ).output.trim();
        assert.equal((await ask("routed.example", "MX")).split("\n").length, 3);
        assert.match(await ask(`reelpost-forward._domainkey.${FORWARDS}`, "TXT"), /^"v=DKIM1; h=sha256; k=rsa; p=/);
        const { id } = await world.api.ok("post", `/zones/${world.zone}/dns_records`, {
          body: { type: "A", name: program, content: "192.0.2.7", ttl: 60 },
        });
        assert.equal(await ask(`${program}.routed.example`, "A"), "192.0.2.7");
        await world.api.ok("delete", `/zones/${world.zone}/dns_records/${id}`);
        assert.equal(await ask(`${program}.routed.example`, "A"), "");
      });
    }
  },
);
