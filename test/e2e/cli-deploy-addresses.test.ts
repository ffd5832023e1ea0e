import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { folderWith, runCli, type CliResult } from "../../src/cli/cli.testing.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";
import { createScope } from "./dev-bench.ts";

describe("deploying a configuration turns its addresses into rules: each step builds on the one before", () => {
  const scope = createScope();
  let server: ServeProcess;
  let cwd: string;
  const cli = (...args: string[]): Promise<CliResult> =>
    runCli(args, { cwd, env: { API_BASE_URL: `${server.ready.url}/client/v4`, API_TOKEN: server.ready.token! } });
  const run = async (...args: string[]): Promise<CliResult> => {
    const ran = await cli(...args);
    assert.equal(ran.code, 0, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`);
    return ran;
  };
  const deploy = async (...addresses: string[]) => {
    await writeFile(
      join(cwd, "wrangler.json"),
      JSON.stringify({ name: "inbox", main: "index.js", compatibility_date: "2026-10-01", addresses }),
    );
    return cli("deploy");
  };
  const rules = async () =>
    (
      (await run("email", "routing", "rules", "list", "example.com", "--json")).json as {
        enabled: boolean;
        matchers: { value?: string }[];
        actions: { type: string; value?: string[] }[];
      }[]
    ).map(
      ({ enabled, matchers: [matcher], actions: [action] }) =>
        `${matcher!.value ?? "*"} ${action!.value?.[0] ?? action!.type} ${enabled}`,
    );

  before(async () => {
    server = await spawnServe(scope, { dataDirectory: await temporaryFolder(scope) });
    cwd = await folderWith(scope, { "index.js": "export default { async email() {} };" });
    await run("zone", "create", "example.com");
    await run("email", "routing", "enable", "example.com");
    await run(
      "email",
      "routing",
      "rules",
      "create",
      "example.com",
      "--match-value",
      "boss@example.com",
      "--action-type",
      "drop",
    );
  });
  after(() => scope.close());

  test("rules are created, including the catch-all rule, and a manually created rule is kept and reported", async () => {
    const { code, stdout, stderr } = await deploy("hi@example.com", "boss@example.com", "*@example.com");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^mail to +inbox@main\.localhost, hi@example\.com, \*@example\.com$/m);
    assert.match(stderr, /warning: mail for boss@example\.com is dropped: its rule does not belong to this worker/);
    assert.deepEqual((await rules()).sort(), [
      "* inbox true",
      "boss@example.com drop true",
      "hi@example.com inbox true",
    ]);
  });

  test("the next deployment updates them, exactly once", async () => {
    await deploy("hello@example.com");
    assert.deepEqual((await rules()).sort(), [
      "* drop false",
      "boss@example.com drop true",
      "hello@example.com inbox true",
    ]);
    await writeFile(
      join(cwd, "wrangler.json"),
      JSON.stringify({
        name: "inbox",
        main: "index.js",
        compatibility_date: "2026-10-01",
        addresses: ["hello@example.com"],
      }),
    );
    assert.deepEqual((await run("deploy", "--json")).json.addresses, {
      all: ["hello@example.com"],
      added: [],
      updated: [],
      deleted: [],
      conflicts: [],
    });
  });

  test("a domain without routing is an error, and no rule changes", async () => {
    const { code, stderr } = await deploy("hello@example.com", "hi@example.org");
    assert.equal(code, 1);
    assert.match(stderr, /error: Unknown Email Routing domain: example\.org \[code: 2062\]/);
    assert.deepEqual((await rules()).sort(), [
      "* drop false",
      "boss@example.com drop true",
      "hello@example.com inbox true",
    ]);
  });
});
