import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { NEWEST_COMPATIBILITY_DATE } from "../workers/project/index.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MAIN = join(ROOT, "src/cli/main.ts");
const packages = dirname(dirname(createRequire(import.meta.url).resolve("workerd/package.json")));
const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function start(command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) =>
    child.on("error", reject).on("close", (code) => resolve({ code, stdout, stderr })),
  );
}

const cli = (cwd: string, ...args: string[]) => start(process.execPath, [MAIN, ...args], cwd);

async function folder(t: TestContext) {
  const path = await mkdtemp(join(tmpdir(), "reelpost-cli-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("--version and help at every level write to stdout and succeed", async (t) => {
  const cwd = await folder(t);
  assert.deepEqual(await cli(cwd, "--version"), { code: 0, stdout: `${version}\n`, stderr: "" });
  assert.deepEqual(await cli(cwd, "--version", "--json"), {
    code: 0,
    stdout: `{"version":"${version}"}\n`,
    stderr: "",
  });
  const [bare, withOption, word] = await Promise.all([cli(cwd), cli(cwd, "--help"), cli(cwd, "help")]);
  assert.deepEqual([bare.code, withOption.stdout, word.stdout], [0, bare.stdout, bare.stdout]);
  assert.match(bare.stdout, /^Commands\n {2}init {13}create a worker project\n {2}dev {14}run a worker/m);
  const [page, other] = await Promise.all([cli(cwd, "types", "-h"), cli(cwd, "help", "types")]);
  assert.equal(other.stdout, page.stdout);
  assert.equal(
    page.stdout,
    `Generate worker-configuration.d.ts with the type of env.

Reads the configuration and writes the type Env with every binding, variable and
secret. Use it together with @cloudflare/workers-types.

Usage
  reelpost types [options]

Options
  -c, --config <file>  configuration file (default: the one in this folder or a
                       parent folder)
  -e, --env <name>     environment: env.<name> of the configuration
      --overwrite      replace the file even if another program wrote it
      --check          do not write; fail if the file is outdated
      --json           print results and errors as JSON
      --no-color       disable colours, like NO_COLOR
  -h, --help           show help
  -v, --version        show the version

Examples
  reelpost types
      after a change of the configuration
  reelpost types --check
      in a test or a CI job
`,
  );
});

test("an invalid command line exits with 2 and shows the correct usage", async (t) => {
  const cwd = await folder(t);
  assert.deepEqual(await cli(cwd, "dve"), {
    code: 2,
    stdout: "",
    stderr: 'error: Unknown command "dve".\nfix: Did you mean `dev`?\n',
  });
  assert.deepEqual(await cli(cwd, "dev", "--prot", "1", "--json"), {
    code: 2,
    stdout:
      '{"error":{"code":"E_UNKNOWN_OPTION","message":"Unknown option --prot of `reelpost dev`.","fix":"Did you mean --port?"}}\n',
    stderr: "",
  });
});

test("a configuration error exits with 1 and prints a report, or a list of problems with --json", async (t) => {
  const cwd = await folder(t);
  await writeFile(join(cwd, "wrangler.jsonc"), `{ "name": 5,\n "main": "index.js" }`);
  const people = await cli(cwd, "types");
  assert.deepEqual([people.code, people.stdout], [1, ""]);
  assert.match(
    people.stderr,
    /^error: wrangler\.jsonc: 3 errors\n\nwrangler\.jsonc:1:1: error: "compatibility_date" is missing\n {2}fix: add "compatibility_date": "\d{4}-\d\d-\d\d"\nwrangler\.jsonc:1:11: error: "name" should be a string, but is the number 5\n/,
  );
  const machines = await cli(cwd, "types", "--json");
  assert.deepEqual([machines.code, machines.stderr], [1, ""]);
  const { error } = JSON.parse(machines.stdout);
  assert.deepEqual(
    [error.code, error.message, error.problems.length],
    ["E_CONFIGURATION", "wrangler.jsonc: 3 errors", 3],
  );
  assert.deepEqual(error.problems[0], {
    severity: "error",
    file: join(cwd, "wrangler.jsonc"),
    line: 1,
    column: 11,
    message: '"name" should be a string, but is the number 5',
    fix: 'for example "my-worker"',
  });
  const nothing = await cli(await folder(t), "types", "--json");
  assert.equal(JSON.parse(nothing.stdout).error.code, "E_CONFIGURATION_MISSING");
});

const TSCONFIG = {
  target: "ES2022",
  module: "ES2022",
  lib: ["ES2022"],
  moduleResolution: "bundler",
  strict: true,
  types: ["@cloudflare/workers-types"],
};

for (const template of ["inbox", "forwarder", "blank"]) {
  test(`init --template ${template} creates a project that type-checks`, { timeout: 60_000 }, async (t) => {
    const cwd = await folder(t);
    const made = await cli(cwd, "init", "My Worker", "--template", template);
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    assert.match(made.stdout, /Next:\n {2}cd "My Worker"\n {2}npm install\n {2}npm run dev\n$/);
    const root = join(cwd, "My Worker");
    assert.deepEqual((await readdir(root)).sort(), [
      ".dev.vars.example",
      ".gitignore",
      "README.md",
      "messages",
      "package.json",
      "src",
      "tsconfig.json",
      "wrangler.jsonc",
    ]);
    const config = await readFile(join(root, "wrangler.jsonc"), "utf8");
    assert.ok(
      config.includes(`"name": "my-worker"`) &&
        config.includes(
          `"compatibility_date": "${[new Date().toISOString().slice(0, 10), NEWEST_COMPATIBILITY_DATE].sort()[0]}"`,
        ),
    );
    const { compilerOptions } = JSON.parse(await readFile(join(root, "tsconfig.json"), "utf8"));
    assert.deepEqual(Object.fromEntries(Object.keys(TSCONFIG).map((name) => [name, compilerOptions[name]])), TSCONFIG);
    assert.match(await readFile(join(root, "messages/hello.eml"), "latin1"), /^To: my-worker@example\.org\r$/m);
    for (const name of await readdir(root, { recursive: true, withFileTypes: true }))
      if (name.isFile()) assert.doesNotMatch(await readFile(join(name.parentPath, name.name), "utf8"), /\{\{/);

    await mkdir(join(root, "node_modules/@cloudflare"), { recursive: true });
    for (const name of ["@cloudflare/workers-types", "postal-mime", "mimetext"])
      await symlink(join(packages, name), join(root, "node_modules", name));
    const types = await cli(root, "types");
    assert.deepEqual([types.code, types.stdout], [0, "Wrote worker-configuration.d.ts\n"], types.stderr);
    assert.deepEqual(await start(join(packages, ".bin/tsc"), ["-p", root], root), { code: 0, stdout: "", stderr: "" });
    assert.equal((await cli(root, "types", "--check")).code, 0);
  });
}

test("init writes nothing and lists the files if they already exist", async (t) => {
  const cwd = await folder(t);
  await writeFile(join(cwd, "package.json"), "{}");
  const refused = await cli(cwd, "init", "--yes");
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /already has files with these names: package\.json\. Nothing was written\.\nfix: Choose another folder/,
  );
  assert.deepEqual(await readdir(cwd), ["package.json"]);
  const inFile = await cli(cwd, "init", "package.json", "--json");
  assert.equal(JSON.parse(inFile.stdout).error.code, "E_FOLDER_UNUSABLE");
  const json = await cli(cwd, "init", "sub/dir", "--json");
  assert.deepEqual(Object.keys(JSON.parse(json.stdout)), ["directory", "name", "template", "files"]);
});

test("types --check fails on an outdated file, and missing type definitions are listed", async (t) => {
  const cwd = await folder(t);
  await writeFile(
    join(cwd, "wrangler.jsonc"),
    `{ "name": "w", "main": "index.ts", "compatibility_date": "2026-01-01" }`,
  );
  await writeFile(join(cwd, "index.ts"), "export default {}");
  const old = await cli(cwd, "types", "--check");
  assert.deepEqual(old, {
    code: 1,
    stdout: "",
    stderr:
      "error: worker-configuration.d.ts does not match the configuration.\nfix: Run `reelpost types` and commit the file.\n",
  });
  const written = await cli(cwd, "types");
  assert.deepEqual([written.code, written.stdout], [0, "Wrote worker-configuration.d.ts\n"]);
  assert.equal(
    written.stderr,
    "index.ts: warning: the runtime's type definitions are missing: editors and tsc cannot check the worker's APIs\n  fix: npm i -D @cloudflare/workers-types\n",
  );
});

test("uses colour only when it is enabled", async (t) => {
  const { stdout, stderr } = await cli(await folder(t), "dve");
  assert.ok(!(stdout + stderr).includes("\u001B"));
});

test("exits without an error when the reader of its output closes the pipe", async (t) => {
  const { code, stderr } = await start(
    "bash",
    ["-c", `set -o pipefail; "${process.execPath}" "${MAIN}" --help | head -c 5 >/dev/null`],
    await folder(t),
  );
  assert.deepEqual([code, stderr], [0, ""]);
});
