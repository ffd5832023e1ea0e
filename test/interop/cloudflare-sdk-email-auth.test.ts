import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { BadRequestError, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

describe("cloudflare SDK: authorized senders of a zone", () => {
  const scope = createScope();
  let platform: Platform;
  let client: ReturnType<typeof sdk>;
  let zone_id: string;
  before(async () => {
    platform = await startPlatform(scope);
    client = sdk(platform, { apiToken: platform.token });
    zone_id = (await client.zones.create({ account: { id: platform.account }, name: "auth.example", type: "full" })).id;
  });
  after(scope.close);

  it("DMARC reports are read, enabled and disabled", async () => {
    const before = await client.emailAuth.dmarcReports.get({ zone_id });
    assert.deepEqual(
      [before.zone_id, before.enabled, before.status, before.rua_prefix.length],
      [zone_id, false, "missing-dmarc-report", 32],
    );
    const on = await client.emailAuth.dmarcReports.edit({ zone_id, enabled: true });
    assert.deepEqual([on.enabled, on.status, on.rua_prefix], [true, undefined, before.rua_prefix]);
    assert.match(on.records.dmarc_records[0].content, new RegExp(`^v=DMARC1; p=none; rua=mailto:${on.rua_prefix}@`));
    assert.equal((await client.emailAuth.dmarcReports.edit({ zone_id, enabled: false })).status, "missing-dmarc-rua");
    await assert.rejects(client.emailAuth.dmarcReports.edit({ zone_id }), BadRequestError);
  });

  it("an SPF record is inspected, including records in a zone on this server", async () => {
    const { id } = await client.dns.records.create({
      zone_id,
      type: "TXT",
      name: "auth.example",
      content: "v=spf1 include:_spf.auth.example -all",
      ttl: 60,
    });
    await client.dns.records.create({
      zone_id,
      type: "TXT",
      name: "_spf.auth.example",
      content: "v=spf1 ip4:192.0.2.0/24 -all",
      ttl: 60,
    });
    const found = await client.emailAuth.spf.inspect.get({ zone_id, id });
    assert.deepEqual(
      [found.domain, found.total_lookups, found.components[0].nested.components[0].value, found.errors],
      ["auth.example", 1, "192.0.2.0/24", undefined],
    );
  });
});
