// Runs the shell steps of deploy/github-action and deploy/gitlab for a worker, against a server.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createScope } from "../e2e/dev-bench.ts";
import { installPackage } from "../support/package-folder.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";

const root = join(import.meta.dirname, "..", "..");
const { parse } = createRequire(join(root, "test", "clients", "package.json"))("yaml") as {
  parse(text: string): unknown;
};
const readYaml = async (...path: string[]) => parse(await readFile(join(root, "deploy", ...path), "utf8"));

interface Action {
  inputs: Record<string, { default: string }>;
  outputs: Record<string, { value: string }>;
  runs: {
    steps: {
      id?: string;
      if?: string;
      run: string;
      shell: string;
      "working-directory": string;
      env?: Record<string, string>;
    }[];
  };
}
interface Job {
  extends?: string;
  before_script?: string[];
  script?: string[];
  rules?: { if: string }[];
}

const WORKER = {
  "package.json": JSON.stringify({ private: true, type: "module", scripts: { test: "node --test" } }),
  "wrangler.jsonc": JSON.stringify({
    name: "letters",
    main: "worker.js",
    compatibility_date: "2026-10-01",
    d1_databases: [{ binding: "DB", database_name: "letters" }],
  }),
  "worker.js": `export default {
    email: (message) => message.forward("team@example.net"),
    fetch: async (_, env) => new Response("letters " + (await env.DB.prepare("SELECT count(*) AS n FROM letters").first("n"))),
  };`,
  "worker.test.js": `import assert from "node:assert/strict";
    import { test } from "node:test";
    import { createServer } from "reelpost/test";
    test("forwards", async () => {
      const server = await createServer();
      const { forwards } = await server.worker().email({ from: "a@example.com", to: "b@example.org", text: "Hi" });
      await server.close();
      assert.equal(forwards[0].recipient, process.env.EXPECTED ?? "team@example.net");
    });`,
  "migrations/0001_letters.sql": "CREATE TABLE letters (id INTEGER PRIMARY KEY);",
};
const TIMEOUT_MS = 90_000;

describe("the CI templates", { timeout: 5 * TIMEOUT_MS }, () => {
  const scope = createScope();
  let folder = "";
  let worker = "";
  let server: ServeProcess;
  before(async () => {
    folder = await temporaryFolder(scope, "ci");
    worker = join(folder, "workers", "letters");
    for (const [name, text] of Object.entries(WORKER)) {
      await mkdir(dirname(join(worker, name)), { recursive: true });
      await writeFile(join(worker, name), text);
    }
    const packages = await installPackage(folder);
    await symlink(packages, join(worker, "node_modules"));
    // `npm ci` needs a registry.
    const npm = spawnSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).stdout.trim();
    await mkdir(join(folder, "tools"));
    const stub = join(folder, "tools", "npm");
    await writeFile(stub, `#!/bin/sh\nif [ "$1" = ci ]; then test -d node_modules; else exec "${npm}" "$@"; fi\n`);
    await chmod(stub, 0o755);
    server = await spawnServe(scope, {});
  });
  after(() => scope.close());

  async function bash(cwd: string, script: string, env: Record<string, string>) {
    const child = spawn("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], {
      cwd,
      env: {
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== "NODE_TEST_CONTEXT")),
        PATH: `${join(folder, "tools")}:${process.env.PATH}`,
        HOME: folder,
        NO_COLOR: "1",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("close", (status) => resolve(status)),
    );
    return { code, output };
  }

  /** Runs the steps of the action as GitHub does: replaces expressions in `env` and `if`, but not in the script. */
  async function runAction(given: Record<string, string>, env: Record<string, string> = {}) {
    const { inputs, runs } = (await readYaml("github-action", "action.yml")) as Action;
    const values: Record<string, string> = { "github.event.head_commit.message || github.sha": "First\n\nbody" };
    for (const [name, { default: value }] of Object.entries(inputs)) values[`inputs.${name}`] = given[name] ?? value;
    const fill = (text: string) =>
      text.replace(/\$\{\{ (.*?) \}\}/g, (_, expression: string) => {
        assert.ok(expression in values, `${expression} is not an input`);
        return values[expression]!;
      });
    const outputFile = join(folder, "outputs");
    await rm(outputFile, { force: true });
    let output = "";
    for (const step of runs.steps) {
      assert.doesNotMatch(step.run, /\$\{\{/, "a script with an expression would execute the text of a commit message");
      const [, name, expected] = /^inputs\.(\w+) == '(\w+)'$/.exec(step.if ?? "inputs.deploy == 'true'") ?? [];
      if (step.if !== undefined && values[`inputs.${name}`] !== expected) continue;
      const stepEnv = Object.fromEntries(Object.entries(step.env ?? {}).map(([key, value]) => [key, fill(value)]));
      const result = await bash(join(folder, fill(step["working-directory"])), step.run, {
        GITHUB_OUTPUT: outputFile,
        ...env,
        ...stepEnv,
      });
      output += result.output;
      if (result.code !== 0) return { code: result.code, output, outputs: "" };
    }
    return { code: 0, output, outputs: await readFile(outputFile, "utf8").catch(() => "") };
  }

  const inputs = () => ({
    directory: "workers/letters",
    url: server.ready.api!,
    token: server.ready.token!,
    migrations: "DB",
  });

  it("the action tests and deploys a worker with its migrations, and returns the version", async () => {
    const created = await bash(worker, "npx reelpost d1 create letters", {
      API_BASE_URL: server.ready.api!,
      API_TOKEN: server.ready.token!,
    });
    assert.equal(created.code, 0, created.output);
    const { code, output, outputs } = await runAction(inputs());
    assert.equal(code, 0, output);
    assert.match(outputs, /^version-id=[0-9a-f-]{36}\n$/);
    const response = await fetch(`${server.ready.url}/workers/letters/`);
    assert.equal(await response.text(), "letters 0");
  });

  it("the action does not deploy if a test fails or deploy is false", async () => {
    const failed = await runAction(inputs(), { EXPECTED: "other@example.net" });
    assert.notEqual(failed.code, 0);
    assert.equal(failed.outputs, "");
    const tested = await runAction({ directory: "workers/letters", deploy: "false" });
    assert.deepEqual([tested.code, tested.outputs], [0, ""], tested.output);
  });

  it("the action requires a URL and a token to deploy", async () => {
    const { code, output } = await runAction({ directory: "workers/letters" });
    assert.equal(code, 1);
    assert.match(output, /::error::The inputs url and token are empty/);
  });

  it("the GitLab jobs test and deploy a worker", async () => {
    const template = (await readYaml("gitlab", "reelpost.gitlab-ci.yml")) as Record<string, Job> & {
      variables: Record<string, string>;
    };
    for (const name of ["test-worker", "deploy-worker"]) {
      const job = template[name]!;
      const script = [...(template[job.extends!]!.before_script ?? []), ...job.script!].join("\n");
      const { code, output } = await bash(folder, script, {
        ...template.variables,
        WORKER_DIRECTORY: "workers/letters",
        MIGRATIONS: "DB",
        CI_PROJECT_DIR: folder,
        CI_COMMIT_TITLE: "Second; echo injected",
        API_BASE_URL: server.ready.api!,
        API_TOKEN: server.ready.token!,
      });
      assert.equal(code, 0, output);
      if (name === "deploy-worker") assert.doesNotMatch(output, /^injected/m);
    }
    assert.deepEqual(template["deploy-worker"]!.rules, [{ if: "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" }]);
  });
});
