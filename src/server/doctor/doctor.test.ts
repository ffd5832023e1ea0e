import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { makeSelfSigned } from "../../certificates/index.ts";
import { systemClock } from "../../kernel/index.ts";
import { settingsSchema } from "../../kernel/settings.ts";
import { storeErrors } from "../../store/index.ts";
import { LookupError, type Lookups } from "../../zones/index.ts";
import { apiHostFindings } from "./api-hosts.ts";
import { databaseFindings } from "./database.ts";
import { runChecks } from "./finding.ts";
import { checkHostCertificate, checkMailHost, reverseName, checkSendingHosts } from "./hosts.ts";
import { objectStoreFindings } from "./objects.ts";
import { pauseFindings } from "./pauses.ts";
import { checkDelegation, checkDmarcRecord, checkZoneRecords } from "./records.ts";

/** Maps `"name TYPE"` to records, or to an error code. */
function fakeLookups(table: Record<string, unknown[] | string>): Lookups {
  const resolve = async (name: string, type: string) => {
    const found = table[`${name} ${type}`];
    if (typeof found === "string") throw new LookupError(found as "ESERVFAIL", `${name}: ${found}`);
    if (found === undefined) throw new LookupError("ENOTFOUND", `${name}: nothing`);
    return found;
  };
  const of = (type: string) => (name: string) => resolve(name, type) as Promise<never[]>;
  return {
    resolve,
    resolve4: of("A"),
    resolve6: of("AAAA"),
    resolveTxt: of("TXT"),
    resolveMx: of("MX"),
    query: async () => Promise.reject(new Error("not asked here")),
    close() {},
  };
}

const brief = (findings: { check: string; status: string; found?: string }[]) =>
  findings.map(({ check, status, found }) => `${status} ${check}${found === undefined ? "" : `: ${found}`}`);

async function listening(t: TestContext, greeting: string): Promise<number> {
  const server = createServer((socket) => void socket.on("error", () => {}).end(greeting)).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

describe("the doctor", () => {
  test("warns about up to ten paused destinations, with end time and reason", () => {
    const pause = (destination: string) => ({
      destination,
      until: new Date(Date.UTC(2026, 0, 5, 12)),
      why: "connection refused",
    });
    assert.deepEqual(brief(pauseFindings([pause("gone.example"), pause("*smart-host")])), [
      "warning delivery to gone.example: paused until 2026-01-05T12:00:00.000Z: connection refused",
      "warning delivery to the smart host: paused until 2026-01-05T12:00:00.000Z: connection refused",
    ]);
    assert.equal(pauseFindings(Array.from({ length: 50 }, (_, n) => pause(`d${n}.example`))).length, 10);
  });

  test("checks the bucket, and reports a problem with its fix", async () => {
    assert.deepEqual(await objectStoreFindings(undefined), []);
    assert.match(
      brief(await objectStoreFindings(async () => 12.3))[0]!,
      /^ok objects in S3: stored .* round trip 12 ms$/,
    );
    const missing = storeErrors.bucketMissing({ bucket: "media", address: "https://s3.example" });
    const findings = await objectStoreFindings(() => Promise.reject(missing));
    assert.deepEqual(brief(findings), ["error objects in S3: the bucket media does not exist at https://s3.example"]);
    assert.match(findings[0]!.fix!, /^Create the bucket/);
  });

  test("warns about several database hosts without synchronous replication", () => {
    const ask = (url: string, replicated = false) => databaseFindings({ url, replicated });
    assert.deepEqual(ask(""), []);
    assert.deepEqual(ask("postgres://reelpost@one/reelpost"), []);
    const url = "postgres://reelpost:secret@one:5432,two:5432/reelpost";
    assert.deepEqual(brief(ask(url, true)), ["ok database hosts: 2, with synchronous replication"]);
    const findings = ask(url);
    assert.deepEqual(brief(findings), ["warning database hosts: 2, and database.replicated is false"]);
    assert.match(findings[0]!.fix!, /^Set database\.replicated to true\./);
  });

  test("warns if the hosts of the API are unknown", () => {
    const ask = (settings: object) => brief(apiHostFindings(settingsSchema.parse(settings)));
    assert.deepEqual(ask({}), ["warning host names of the API: any"]);
    assert.deepEqual(ask({ api: { hosts: ["api.example.com"] } }), ["ok host names of the API: api.example.com"]);
    assert.deepEqual(ask({ http: { public_url: "https://api.example.com" } }), [
      "ok host names of the API: https://api.example.com",
    ]);
  });

  test("reports a delegation to our servers, a partial one, one to other servers, a missing one, and a private domain", async () => {
    const ask = (zone: string, ns?: string[] | string) =>
      checkDelegation(
        zone,
        ["ns1.us.net", "ns2.us.net"],
        fakeLookups(ns === undefined ? {} : { [`${zone} NS`]: ns }),
      ).then(brief);
    assert.deepEqual(await ask("a.org", ["NS1.us.net", "ns2.us.net"]), [
      "ok delegation of a.org: ns1.us.net, ns2.us.net",
    ]);
    assert.match((await ask("a.org", ["ns1.us.net", "ns9.them.net"]))[0]!, /^warning .*ns9\.them\.net/);
    assert.match((await ask("a.org", ["ns9.them.net"]))[0]!, /^error .*ns9\.them\.net/);
    assert.match((await ask("a.org"))[0]!, /^error .*does not exist/);
    assert.match((await ask("a.test"))[0]!, /^ok .*private/);
    assert.match(
      brief(await runChecks({ x: () => checkDelegation("a.org", [], fakeLookups({ "a.org NS": "ESERVFAIL" })) }))[0]!,
      /^warning x: check failed: .*ESERVFAIL/,
    );
  });

  test("reports correct, wrong, missing, unresolvable and conflicting records", async () => {
    const record = (type: "MX" | "TXT", name: string, content: string, priority: number | null = null) => ({
      name,
      type,
      content,
      priority,
      ttl: 1,
    });
    const findings = await checkZoneRecords("a.org", [], {
      check: async () => ({
        status: "misconfigured",
        records: [
          { record: record("MX", "a.org", "mx1.us.net", 10), state: "right", found: [], seen: [] },
          {
            record: record("TXT", "a.org", '"v=spf1 include:_spf.us.net ~all"'),
            state: "wrong",
            found: ["v=spf1 -all"],
            seen: [],
          },
          { record: record("TXT", "k1._domainkey.a.org", '"v=DKIM1; p=x"'), state: "missing", found: [], seen: [] },
          {
            record: record("TXT", "k2._domainkey.a.org", '"v=DKIM1; p=y"'),
            state: "failed",
            found: [],
            seen: [{ resolver: "r", state: "failed", found: [], reason: "SERVFAIL" }],
          },
        ],
        conflicts: [{ record: record("MX", "a.org", "mx.them.net", 5), kind: "foreignMx", message: "elsewhere" }],
      }),
    });
    assert.deepEqual(brief(findings), [
      "ok MX mx1.us.net: a.org MX 10 mx1.us.net",
      "error SPF: v=spf1 -all",
      "error DKIM k1",
      "warning DKIM k2: lookup failed: SERVFAIL",
      "error MX: elsewhere",
    ]);
    assert.ok(findings.slice(1).every(({ fix }) => fix !== undefined));
  });

  test("uses the DMARC record of the name, otherwise of its domain, and reports weak, duplicate and missing policies", async () => {
    const ask = (table: Record<string, string[][]>) =>
      checkDmarcRecord("mail.a.org", "a.org", fakeLookups(table)).then(brief);
    assert.match(
      (await ask({ "_dmarc.a.org TXT": [["v=DMARC1; ", "p=reject"]] }))[0]!,
      /^ok DMARC: _dmarc\.a\.org: v=DMARC1; p=reject/,
    );
    assert.match((await ask({ "_dmarc.a.org TXT": [["v=DMARC1; p=reject; sp=none"]] }))[0]!, /^ok DMARC/);
    assert.match(
      (
        await ask({ "_dmarc.mail.a.org TXT": [["v=DMARC1; p=none"]], "_dmarc.a.org TXT": [["v=DMARC1; p=reject"]] })
      )[0]!,
      /^warning .*p=none/,
    );
    assert.match(
      (await ask({ "_dmarc.a.org TXT": [["v=DMARC1; p=none"], ["v=DMARC1; p=reject"]] }))[0]!,
      /^error .*2 records/,
    );
    assert.deepEqual(await ask({ "_dmarc.a.org TXT": [["something"]] }), ["warning DMARC"]);
  });

  test("reports missing addresses of hosts, unreachable hosts, other servers, and correct hosts", async (t) => {
    const at = { "mx.us.net A": ["127.0.0.1"] };
    assert.deepEqual(brief(await checkMailHost("mx.us.net", fakeLookups({}))), ["error address of mx.us.net: none"]);
    assert.match(
      brief(await checkMailHost("mx.us.net", fakeLookups(at), 1))[1]!,
      /^error port 1 of mx\.us\.net \(127\.0\.0\.1\): ECONNREFUSED/,
    );
    assert.match(
      brief(await checkMailHost("mx.us.net", fakeLookups(at), await listening(t, "SSH-2.0-x\r\n")))[1]!,
      /^error .*SSH-2\.0/,
    );
    assert.match(
      brief(await checkMailHost("mx.us.net", fakeLookups(at), await listening(t, "220 mx.us.net ESMTP\r\n")))[1]!,
      /^ok .*220 mx\.us\.net/,
    );
  });

  test("reports self-signed and expired certificates, and those for another name", async () => {
    const pair = await makeSelfSigned({ names: ["mx.us.net"], clock: systemClock });
    const tls = { pem: () => pair };
    assert.match(brief([checkHostCertificate("mx.us.net", tls, Date.now())])[0]!, /^warning .*self-signed/);
    assert.match(brief([checkHostCertificate("mx2.us.net", tls, Date.now())])[0]!, /^warning .*mx\.us\.net/);
    assert.match(
      brief([checkHostCertificate("mx.us.net", tls, Date.now() + 100 * 365 * 86_400_000)])[0]!,
      /^error .*expired/,
    );
  });

  test("checks that SPF lists the sender addresses and that their reverse DNS matches", async () => {
    const spf = {
      "_spf.us.net TXT": [
        ["v=spf1 ip4:192.0.2.1 ip6:2001:db8::1 ip4:192.0.2.2/32 ip4:198.51.100.0/24 -ip4:192.0.2.9 -all"],
      ],
    };
    const names = {
      "1.2.0.192.in-addr.arpa PTR": ["mx.us.net"],
      [`${reverseName("2001:db8::1")} PTR`]: ["mx.us.net"],
      "2.2.0.192.in-addr.arpa PTR": ["mx.us.net"],
      "mx.us.net A": ["192.0.2.1"],
      "mx.us.net AAAA": ["2001:DB8:0::1"],
    };
    assert.deepEqual(
      brief(await checkSendingHosts("_spf.us.net", fakeLookups({ ...spf, ...names }))).map((line) => line.slice(0, 45)),
      [
        "ok SPF at _spf.us.net: v=spf1 ip4:192.0.2.1 i",
        "ok reverse DNS of 192.0.2.1: mx.us.net",
        "ok reverse DNS of 2001:db8::1: mx.us.net",
        "warning reverse DNS of 192.0.2.2: mx.us.net",
      ],
    );
    assert.deepEqual(
      brief(await checkSendingHosts("_spf.us.net", fakeLookups(spf))).slice(1),
      ["192.0.2.1", "2001:db8::1", "192.0.2.2"].map((address) => `error reverse DNS of ${address}: none`),
    );
    assert.deepEqual(brief(await checkSendingHosts("_spf.us.net", fakeLookups({}))), ["error SPF at _spf.us.net"]);
    assert.match(
      brief(await checkSendingHosts("_spf.us.net", fakeLookups({ "_spf.us.net TXT": [["v=spf1 foo -all"]] })))[0]!,
      /^error .*is invalid/,
    );
  });

  test("reports addresses without reverse DNS", () => {
    assert.equal(reverseName("192.0.2.1"), "1.2.0.192.in-addr.arpa");
    assert.equal(
      reverseName("2001:db8::567:89ab"),
      "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
    );
    assert.equal(reverseName("::1").length, 63 + ".ip6.arpa".length);
  });
});
