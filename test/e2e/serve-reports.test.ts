import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { runCli } from "../../src/cli/cli.testing.ts";
import { aggregateXml, reportMessage } from "../../src/mail/dmarc-reports/report-file.testing.ts";
import { TOKEN } from "./serve-client.ts";
import { SENDER_DOMAIN, sendRaw, startMailFixture } from "../support/mail-world.ts";

const DAY = 86_400_000;

test("a DMARC report received by SMTP appears in the statistics of its domain, and in no other", async (t) => {
  const { server, api, zone, domain, newZone } = await startMailFixture(t);
  const [senders] = await api.ok("get", `/zones?name=${SENDER_DOMAIN}`);
  await api.ok("post", `/zones/${senders.id}/dns_records`, {
    body: { type: "TXT", name: `_dmarc.${SENDER_DOMAIN}`, content: '"v=DMARC1; p=reject"', ttl: 300 },
  });
  const other = await newZone("other.example");
  const { rua_prefix: prefix } = await api.ok("patch", `/zones/${zone}/email/auth/dmarc-reports`, {
    body: { enabled: true },
  });
  const begin = Math.floor(Date.now() / DAY) * DAY - DAY;
  const xml = aggregateXml({
    domain,
    orgName: "Big Mail",
    begin,
    records: [{ count: 20 }, { ip: "198.51.100.7", count: 5, dkim: "fail", spf: "fail", disposition: "reject" }],
  });
  const raw = reportMessage(gzipSync(xml), "application/gzip", `reports@${SENDER_DOMAIN}`);
  const { port } = server.smtp!;
  for (let i = 0; i < 2; i++) assert.match(await sendRaw(port, { to: `${prefix}@fwd.${domain}`, raw }), /^250 /);
  const statistics = await api.ok("get", `/zones/${zone}/email/auth/dmarc-reports/statistics`);
  assert.deepEqual(
    [statistics.reports, statistics.totals.messages, statistics.totals.passed, statistics.totals.rejected],
    [1, 25, 20, 5],
  );
  assert.deepEqual(
    statistics.sources.map(
      ({ source_ip, messages }: { source_ip: string; messages: number }) => `${source_ip} ${messages}`,
    ),
    ["192.0.2.1 20", "198.51.100.7 5"],
  );
  assert.deepEqual(
    statistics.reporters.map(({ org_name, sender }: { org_name: string; sender: string }) => `${org_name} ${sender}`),
    [`Big Mail ${SENDER_DOMAIN}`],
  );
  const shown = await runCli(["email", "dmarc", "report", domain], {
    cwd: process.cwd(),
    env: { API_BASE_URL: `${server.url}/client/v4`, API_TOKEN: TOKEN },
  });
  assert.match(shown.stdout, /^reports +1\nmessages +25\nDMARC pass +80%$/m, shown.stderr);
  assert.match(shown.stdout, /^198\.51\.100\.7 +5 +0% +0% +0% +0 +5$/m);
  assert.match(shown.stdout, /^Big Mail +sender\.example +25 +80% /m);
  assert.equal((await api.ok("get", `/zones/${other}/email/auth/dmarc-reports/statistics`)).reports, 0);
});
