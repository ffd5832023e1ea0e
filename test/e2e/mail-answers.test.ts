import assert from "node:assert/strict";
import { test } from "node:test";
import { startScriptedServer } from "../../src/zones/dns/lookup/scripted-server.testing.ts";
import { plainMessage, sendRaw, startMailFixture, until } from "../support/mail-world.ts";

/**
 * A worker that replies to every message. If `polite`, it does not override the default Auto-Submitted field, as is
 * usual.
 */
const ANSWERS = (polite: boolean) => `
  import { EmailMessage } from "cloudflare:email";
  export default {
    async email(message) {
      const id = message.headers.get("message-id");
      const raw = ["From: " + message.to, "To: " + message.from, "Message-ID: <" + crypto.randomUUID() + "@" + message.to.split("@")[1] + ">", "In-Reply-To: " + id,
        ${polite ? "" : '"Auto-Submitted: no",'} "Subject: Re: " + message.headers.get("subject"), "", "thanks"].join("\\r\\n") + "\\r\\n";
      await message.reply(new EmailMessage(message.to, message.from, raw));
    },
  };`;

// References has at most 100 entries, so including the first message, 101 messages get a reply.
for (const [polite, least, most] of [
  [true, 1, 1],
  [false, 20, 101],
] as const) {
  test(
    `two auto-responders that reply to each other${polite ? "" : " without marking their replies as automatic"} stop eventually, and the log shows the reason`,
    { timeout: 240_000 },
    async (t) => {
      const dns = await startScriptedServer(t, () => ({ rcode: "NXDOMAIN" }));
      const world = await startMailFixture(t, {
        domain: "one.example",
        env: {
          REELPOST_EMAIL_SPF_INCLUDE: "_spf.us.example",
          REELPOST_DNS_RESOLVERS: `127.0.0.1:${dns.port}`,
          REELPOST_OUTBOUND_DELIVER: "mx",
          REELPOST_OUTBOUND_ALLOW_PRIVATE: "true",
          REELPOST_OUTBOUND_RETRY_MINUTES: "0.01",
        },
      });
      await world.newZone("us.example", [{ type: "TXT", name: "_spf", content: "v=spf1 ip4:127.0.0.1 -all" }]);
      const two = await world.newZone("two.example");
      await world.api.ok("post", `/zones/${two}/email/routing/dns`, { body: {} });
      for (const zone of [world.zone, two])
        await world.api.ok("post", `/zones/${zone}/dns_records`, {
          body: { type: "TXT", name: "_dmarc", content: "v=DMARC1; p=reject", ttl: 60 },
        });
      await world.api.deploy("answers", ANSWERS(polite));
      await world.rule("*", "worker", "answers");
      await world.api.ok("put", `/zones/${two}/email/routing/rules/catch_all`, {
        body: { enabled: true, matchers: [{ type: "all" }], actions: [{ type: "worker", value: ["answers"] }] },
      });
      // Each reply is sent while the previous message is still being delivered, so the connections are nested.
      assert.match(
        await sendRaw(world.server.smtp!.port, {
          from: "desk@two.example",
          to: "desk@one.example",
          raw: plainMessage("begin", { from: "desk@two.example" }),
        }),
        /^250 /,
      );
      const entries = async (): Promise<{ status: string; error_detail: string }[]> =>
        world.api.ok("get", "email/activity?per_page=1000&kind=routing&search=begin");
      const last = await until(
        async () => (await entries()).find(({ status }) => status === "error"),
        "a reply that cannot be replied to",
      );
      const rounds = (await entries()).filter(({ status }) => status === "handled").length;
      assert.ok(rounds >= least && rounds <= most, `${rounds} replies were sent`);
      assert.match(last.error_detail, /^451 4\.3\.0 .*\(Error: Original email is not replyable\)$/);
    },
  );
}
