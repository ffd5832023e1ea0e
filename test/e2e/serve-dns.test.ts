import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { knotd, startKnot } from "../../src/zones/dns/provider/knot.testing.ts";
import { sendHttpRequest, createApi, servePlatform, TOKEN, type Api } from "./serve-client.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";

const run = promisify(execFile);
const missing = (program: string) =>
  spawnSync(program, ["-v"]).error !== undefined && process.env["REQUIRE_ALL"] !== "1" && `${program} is not installed`;

async function newZone(api: Api, name: string): Promise<string> {
  return (await api.ok("post", "/zones", { body: { name, account: { id: api.account }, type: "full" } })).id;
}

async function until(is: () => Promise<boolean>): Promise<void> {
  for (let left = 600; !(await is().catch(() => false)); left--) {
    assert.ok(left > 0, "timed out after 60 seconds");
    await sleep(100);
  }
}

for (const program of ["dig", "kdig"]) {
  test(
    `${program} gets responses from a zone's name server, over UDP and TCP, as soon as mail routing is enabled`,
    { skip: missing(program) },
    async (t) => {
      const server = await servePlatform(t);
      const api = createApi(server, TOKEN);
      const zone = await newZone(api, "routed.example");
      const dig = async (...words: string[]) =>
        (await run(program, ["@127.0.0.1", "-p", String(server.dns!.port), "+time=5", ...words])).stdout;
      assert.match(await dig("routed.example", "MX"), /status: NOERROR[^]*SOA/);
      await api.ok("post", `/zones/${zone}/email/routing/dns`, { body: {} });
      for (const over of ["+notcp", "+tcp"]) {
        assert.deepEqual((await dig(over, "+short", "routed.example", "MX")).trim().split("\n").sort(), [
          "10 route1.reelpost.internal.",
          "20 route2.reelpost.internal.",
          "30 route3.reelpost.internal.",
        ]);
        assert.equal(
          (await dig(over, "+short", "routed.example", "TXT")).trim(),
          '"v=spf1 include:_spf.reelpost.internal ~all"',
        );
        assert.match(
          await dig(over, "+short", "reelpost._domainkey.routed.example", "TXT"),
          /^"v=DKIM1; h=sha256; k=rsa; p=\S+" "\S+"/,
        );
      }
      assert.match(await dig("nothing.routed.example", "A"), /NXDOMAIN/);
      assert.match(await dig("routed.example", "ANY"), /RFC8482/);
      assert.match(await dig("elsewhere.example", "A"), /REFUSED/);
      await api.ok("delete", `/zones/${zone}/email/routing/dns`, { body: {} });
      assert.equal((await dig("+short", "routed.example", "MX")).trim(), "");
      const { body } = await (async () => ({ body: await (await fetch(`${server.url}/metrics`)).text() }))();
      assert.match(body, /reelpost_dns_answers_total\{over="tcp",rcode="NOERROR"\} [3-9]/);
    },
  );
}

/** Starts a proxy in front of a server: accepts connections while it is open. */
async function gate(t: TestContext, port: number) {
  const state = { open: false, turnedAway: 0, port: 0 };
  const server = createServer((socket) => {
    socket.on("error", () => {});
    if (!state.open) {
      state.turnedAway++;
      return void socket.destroy();
    }
    const behind = connect(port, "127.0.0.1");
    behind.on("error", () => socket.destroy());
    socket.pipe(behind).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  state.port = (server.address() as AddressInfo).port;
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return state;
}

describe(
  "zones served by Knot",
  { skip: knotd === undefined && process.env["REQUIRE_ALL"] !== "1" && "Knot is not installed" },
  () => {
    test(
      "an acknowledged change reaches Knot even if Knot was down and the server was killed in the meantime",
      { skip: missing("dig") },
      async (t) => {
        const knot = await startKnot({ "routed.example": "", "taken.example": "@ MX 5 mail.theirs.example.\n" });
        t.after(() => knot.stop());
        const door = await gate(t, knot.port);
        const dataDirectory = await temporaryFolder(t);
        const env = {
          REELPOST_API_TOKEN: TOKEN,
          REELPOST_DNS_PROVIDER: "rfc2136",
          REELPOST_DNS_PROVIDER_SERVER: `127.0.0.1:${door.port}`,
          REELPOST_DNS_PROVIDER_KEY: `${knot.key.algorithm}:${knot.key.name}:${knot.key.secret.toString("base64")}`,
        };
        const first = await spawnServe(t, { dataDirectory, env });
        const api = createApi(first.ready, TOKEN);
        for (const name of ["routed.example", "taken.example"])
          await api.ok("post", `/zones/${await newZone(api, name)}/email/routing/dns`, { body: {} });
        await until(async () => door.turnedAway > 0);
        first.child.kill("SIGKILL");
        await first.exited;
        door.open = true;
        const second = await spawnServe(t, { dataDirectory, env });
        const published = async (name: string, type: string) =>
          (await run("dig", ["@127.0.0.1", "-p", String(knot.port), "+short", "+tcp", name, type])).stdout
            .trim()
            .split("\n")
            .sort();
        await until(async () => (await published("routed.example", "MX")).length === 3);
        await until(
          async () => (await published("routed.example", "TXT"))[0] === '"v=spf1 include:_spf.reelpost.internal ~all"',
        );
        await until(async () => /v=DKIM1/.test((await published("reelpost._domainkey.routed.example", "TXT"))[0]!));
        // Mail for this domain goes elsewhere: its existing record remains the only one.
        assert.deepEqual(await published("taken.example", "MX"), ["5 mail.theirs.example."]);
        assert.equal((await second.stop()).code, 0);
      },
    );
  },
);

test("a routed domain has an MTA-STS policy, with both its records and the policy file", async (t) => {
  const server = await servePlatform(t, {
    env: { REELPOST_HTTP_PUBLIC_URL: "https://mail.us.example", REELPOST_EMAIL_MX: "mx1.us.example,mx2.us.example" },
  });
  const api = createApi({ ...server, api: `${server.url}/client/v4` }, TOKEN);
  const zone = await newZone(api, "routed.example");
  const policy = () => sendHttpRequest(server, "/.well-known/mta-sts.txt", { host: "mta-sts.routed.example" });
  assert.equal((await policy()).status, 404);
  await api.ok("post", `/zones/${zone}/email/routing/dns`, { body: {} });
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${server.dns!.port}`]);
  await until(async () =>
    (await resolver.resolveTxt("_mta-sts.routed.example"))[0]!.join("").startsWith("v=STSv1; id="),
  );
  await until(async () => (await resolver.resolveCname("mta-sts.routed.example"))[0] === "mail.us.example");
  await until(async () => (await policy()).status === 200);
  const { status, headers, body } = await policy();
  assert.deepEqual(
    [status, headers["content-type"], body.replaceAll("\r\n", "\n").trim()],
    [
      200,
      "text/plain; charset=utf-8",
      "version: STSv1\nmode: testing\nmx: mx1.us.example\nmx: mx2.us.example\nmax_age: 86400",
    ],
  );
  await api.ok("delete", `/zones/${zone}/email/routing/dns`, { body: {} });
  await until(() =>
    resolver.resolveTxt("_mta-sts.routed.example").then(
      () => false,
      () => true,
    ),
  );
  await until(async () => (await policy()).status === 404);
});

test("the doctor reports missing records for a domain", async (t) => {
  const server = await servePlatform(t, {
    env: {
      REELPOST_EMAIL_MX: "mx1.us.example",
      REELPOST_EMAIL_SPF_INCLUDE: "_spf.us.example",
      REELPOST_EMAIL_FORWARD_DOMAIN: "fwd.us.example",
    },
  });
  const api = createApi(server, TOKEN);
  const us = await newZone(api, "us.example");
  const zone = await newZone(api, "routed.example");
  const findings = async () =>
    ((await api.ok("get", `/zones/${zone}/email/doctor`)) as { check: string; status: string }[]).map(
      ({ check, status }) => `${status} ${check}`,
    );
  const before = await findings();
  for (const lacking of [
    "error Email Routing",
    "error MX mx1.us.example",
    "error SPF",
    "warning DMARC",
    "warning MTA-STS",
    "error address of mx1.us.example",
    "error MX of fwd.us.example",
    "error SPF at _spf.us.example",
  ])
    assert.ok(before.includes(lacking), `${lacking} is not among ${before.join("; ")}`);
  for (const check of ["ffmpeg confinement", "worker process users"])
    assert.ok(
      before.some((line) => line.endsWith(` ${check}`)),
      `${check} is not among ${before.join("; ")}`,
    );
  await api.ok("post", `/zones/${zone}/email/routing/dns`, { body: {} });
  for (const [type, name, content] of [
    ["A", "mx1", "127.0.0.1"],
    ["TXT", "_spf", "v=spf1 ip4:192.0.2.0/24 -all"],
    ["MX", "fwd", "mx1.us.example"],
  ])
    await api.ok("post", `/zones/${us}/dns_records`, {
      body: { type, name, content, ttl: 60, ...(type === "MX" && { priority: 1 }) },
    });
  await api.ok("post", `/zones/${zone}/dns_records`, {
    body: { type: "TXT", name: "_dmarc", content: "v=DMARC1; p=reject", ttl: 60 },
  });
  await until(async () => (await findings()).includes("ok address of mx1.us.example"));
  const after = await findings();
  for (const there of [
    "ok Email Routing",
    "ok MX mx1.us.example",
    "ok SPF",
    "ok DKIM reelpost",
    "ok DMARC",
    "ok MX of fwd.us.example",
    "ok SPF at _spf.us.example",
    "ok delegation of routed.example",
  ])
    assert.ok(after.includes(there), `${there} is not among ${after.join("; ")}`);
  assert.deepEqual(await api.refused("get", `/zones/${zone}/email/doctor?name=elsewhere.example`), [400, 10001]);
});
