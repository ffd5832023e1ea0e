import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import PostalMime from "postal-mime";
import { runCli, type CliResult } from "../../src/cli/cli.testing.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";
import { createScope } from "./dev-bench.ts";

describe("the command line routes the mail of a domain: each step builds on the one before", () => {
  const scope = createScope();
  let server: ServeProcess;
  let data: string;
  const cli = (...args: string[]): Promise<CliResult> =>
    runCli(args, { cwd: data, env: { API_BASE_URL: `${server.ready.url}/client/v4`, API_TOKEN: server.ready.token! } });
  const run = async (...args: string[]): Promise<CliResult> => {
    const ran = await cli(...args);
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  let forward: string;

  before(async () => {
    data = await temporaryFolder(scope);
    server = await spawnServe(scope, { dataDirectory: data });
  });
  after(() => scope.close());

  test("adds a domain, lists it, and finds it by any of its subdomains", async () => {
    assert.match(
      (await run("zone", "create", "example.com")).stdout,
      /^Created example\.com \([0-9a-f]{32}\)\. Set these name servers at its registrar: ns1\./,
    );
    assert.match((await run("zone", "list")).stdout, /example\.com/);
    assert.match((await run("email", "routing", "settings", "a.b.example.com")).stdout, /enabled +no/);
    const { stderr, code } = await cli("email", "routing", "settings", "example.org");
    assert.equal(code, 1);
    assert.match(
      stderr,
      /error: The account has no zone for example\.org\.\nfix: .*`reelpost zone create example\.org`/,
    );
  });

  test("enables routing for the domain and a subdomain, and shows its records", async () => {
    assert.match((await run("email", "routing", "enable", "example.com")).stdout, /enabled +yes\nstatus +ready/);
    assert.match((await run("email", "routing", "enable", "mail.example.com")).stdout, /mail\.example\.com +yes/);
    assert.match((await run("email", "routing", "list")).stdout, /example\.com +yes +ready/);
    assert.match(
      (await run("email", "routing", "dns", "get", "example.com")).stdout,
      /MX +example\.com +\d+ +route1\./,
    );
    assert.match((await run("zone", "export", "example.com")).stdout, /^example\.com\.\s.*\bMX\b/m);
    assert.match((await run("email", "routing", "dns", "unlock", "example.com")).stdout, /status +unlocked/);
  });

  test("lists and replaces the DKIM keys of forwarded mail", async () => {
    assert.match(
      (await run("email", "routing", "dkim", "list", "example.com")).stdout,
      /^\S+ +example\.com +rsa +active +20\S+ \S+ UTC$/m,
    );
    const { json: keys } = await run("email", "routing", "dkim", "rotate", "mail.example.com", "--json");
    assert.deepEqual(keys.map(({ domain, state }: { domain: string; state: string }) => [domain, state]).sort(), [
      ["mail.example.com", "active"],
      ["mail.example.com", "next"],
    ]);
  });

  test("a rule waits until its destination address is verified by the link in the mail", async () => {
    assert.match(
      (await run("email", "routing", "addresses", "create", "me@example.net")).stdout,
      /Sent a verification email to me@example\.net\./,
    );
    const { json } = await run(
      "email",
      "routing",
      "rules",
      "create",
      "example.com",
      "--match-value",
      "me@example.com",
      "--action-type",
      "forward",
      "--action-value",
      "me@example.net",
      "--name",
      "me",
      "--json",
    );
    forward = json.id;
    assert.match((await run("email", "routing", "rules", "get", "example.com", forward)).stdout, /enabled +no/);
    await (await fetch(await linkInMail(data), { method: "POST" })).text();
    const { json: addresses } = await run("email", "routing", "addresses", "list", "--json");
    assert.deepEqual(
      addresses.map(({ email, verified }: { email: string; verified: unknown }) => [email, verified !== null]),
      [["me@example.net", true]],
    );
    assert.match(
      (await run("email", "routing", "addresses", "get", addresses[0].id)).stdout,
      /address +me@example\.net/,
    );
    assert.match((await run("email", "routing", "rules", "get", "example.com", forward)).stdout, /enabled +yes/);
  });

  test("lists rules, updates them one field at a time, and deletes them except for the catch-all rule", async () => {
    const changed = (
      await run("email", "routing", "rules", "update", "example.com", forward, "--enabled", "false", "--json")
    ).json;
    assert.deepEqual(
      [changed.enabled, changed.name, changed.actions],
      [false, "me", [{ type: "forward", value: ["me@example.net"] }]],
    );
    await run(
      "email",
      "routing",
      "rules",
      "update",
      "example.com",
      "catch-all",
      "--action-type",
      "drop",
      "--enabled",
      "true",
    );
    assert.match(
      (await run("email", "routing", "rules", "get", "example.com", "catch-all")).stdout,
      /matches +everything else\n *action +drop\n *enabled +yes/,
    );
    assert.match(
      (await run("email", "routing", "rules", "list", "example.com")).stdout,
      /me@example\.com +forward to me@example\.net +no/,
    );
    assert.match(
      (await cli("email", "routing", "rules", "delete", "example.com", "catch-all", "--yes")).stderr,
      /every domain has this rule/,
    );
    assert.match(
      (await cli("email", "routing", "rules", "create", "example.com", "--action-type", "worker")).stderr,
      /fix: Specify the address that the rule matches/,
    );
    await run("email", "routing", "rules", "delete", "example.com", forward, "--yes");
    assert.equal((await run("email", "routing", "rules", "list", "example.com", "--json")).json.length, 1);
  });

  test("disables routing and deletes the domain", async () => {
    assert.match((await run("email", "routing", "disable", "example.com")).stdout, /enabled +no/);
    assert.equal((await cli("zone", "delete", "mail.example.com", "--yes")).code, 1);
    await run("zone", "delete", "example.com", "--yes");
    assert.deepEqual((await run("zone", "list", "--json")).json, []);
  });
});

async function linkInMail(data: string): Promise<string> {
  const names = (await readdir(join(data, "mail"), { recursive: true })).filter((name) => name.endsWith(".eml"));
  const { text } = await PostalMime.parse(await readFile(join(data, "mail", names[0]!)));
  return /http\S+\/email\/verify\/\S+/.exec(text!)![0];
}
