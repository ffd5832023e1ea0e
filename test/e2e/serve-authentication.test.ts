import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlatformServer } from "../../src/server/index.ts";
import { createScope } from "../interop/platform.ts";
import { startScriptedServer } from "../../src/zones/dns/lookup/scripted-server.testing.ts";
import { createApi, sendMail, servePlatform, TOKEN, type Api } from "./serve-client.ts";

/** Zones on this server are authenticated from its own tables: public DNS does not contain them here. */
describe("senders of incoming mail", () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  let routed: string;
  const queries: string[] = [];

  async function zone(
    name: string,
    records: { type: string; name: string; content: string; priority?: number }[] = [],
  ): Promise<string> {
    const { id } = await api.ok("post", "/zones", { body: { name, account: { id: api.account }, type: "full" } });
    for (const record of records) await api.ok("post", `/zones/${id}/dns_records`, { body: { ttl: 60, ...record } });
    return id;
  }

  before(async () => {
    const world = await startScriptedServer(scope as never, ({ name, type }) => {
      queries.push(`${name} ${type}`);
      if (name === "lame.org") return { recursive: false };
      if (name === "fails.org") return { rcode: "SERVFAIL" };
      if (name === "silent.org") return undefined;
      if (name === "circle.org" || name === "circle2.org")
        return {
          answers: [{ name, type: "CNAME", ttl: 60, data: name === "circle.org" ? "circle2.org" : "circle.org" }],
        };
      if (name === "victim.org" && type === "NS")
        return { answers: [{ name, type: "NS", ttl: 60, data: "ns.victim.org" }] };
      if (name === "victim.org" && type === "TXT")
        return { answers: [{ name, type: "TXT", ttl: 60, data: "v=spf1 -all" }] };
      return { rcode: "NXDOMAIN" };
    });
    server = await servePlatform(scope, {
      env: {
        REELPOST_EMAIL_SPF_INCLUDE: "_spf.us.example",
        REELPOST_AUTHENTICATION_TRUSTED: "192.0.2.99",
        REELPOST_DNS_RESOLVERS: `127.0.0.1:${world.port}`,
      },
    });
    api = createApi(server, TOKEN);
    await zone("us.example", [{ type: "TXT", name: "_spf", content: "v=spf1 ip4:127.0.0.1 -all" }]);
    routed = await zone("routed.example");
    await api.ok("post", `/zones/${routed}/email/routing/dns`, { body: {} });
    await api.ok("put", `/zones/${routed}/email/routing/rules/catch_all`, {
      body: { enabled: true, matchers: [{ type: "all" }], actions: [{ type: "drop" }] },
    });
  });
  after(scope.close);

  const from = async (domain: string) => {
    const { code, text } = await sendMail(server, "box@routed.example", {
      from: `ada@${domain}`,
      subject: `from ${domain}`,
    });
    return `${code} ${/\d\.\d+\.\d+/.exec(text)?.[0] ?? ""}`;
  };

  test("a routed zone passes SPF using the records created by routing, read from the server's own tables", async () => {
    assert.equal(await from("routed.example"), "250 2.6.0");
    for (let left = 100; ; left--) {
      const log = (await api.ok("get", `/zones/${routed}/email/activity`)) as { subject: string; spf: string }[];
      const entry = log.find(({ subject }) => subject === "from routed.example");
      if (entry?.spf !== undefined && entry.spf !== null && entry.spf !== "") {
        assert.equal(entry.spf, "pass");
        break;
      }
      assert.ok(left > 0, `the log contains no SPF result: ${JSON.stringify(log)}`);
      await sleep(50);
    }
    assert.deepEqual(
      queries.filter((question) => question.includes("routed.example") || question.includes("us.example")),
      [],
    );
  });

  test("are rejected if forged, and deferred if their authentication is undecided", async () => {
    await zone("liar.example", [{ type: "TXT", name: "@", content: "v=spf1 -all" }]);
    assert.match(await from("liar.example"), /^550 5\.7\./);
    assert.match(await from("nobody.org"), /^550 5\.7\./);
    for (const domain of ["fails.org", "lame.org", "circle.org", "silent.org"])
      assert.equal(await from(domain), "451 4.4.3", domain);
  });

  test("a zone that another account creates for a foreign domain does not authenticate any mail", async () => {
    await zone("victim.org", [{ type: "TXT", name: "@", content: "v=spf1 ip4:127.0.0.1 -all" }]);
    assert.match(await from("victim.org"), /^550 5\.7\./);
  });

  test("a report is accepted only for a zone that requested reports", async () => {
    const { rua_prefix: prefix } = await api.ok("patch", `/zones/${routed}/email/auth/dmarc-reports`, {
      body: { enabled: true },
    });
    const report = async (local: string) =>
      (await sendMail(server, `${local}@forward.reelpost.internal`, { from: "ada@routed.example" })).code;
    assert.deepEqual([await report(prefix), await report("0".repeat(32))], [250, 550]);
  });
});
