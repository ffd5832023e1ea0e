// Installs the package that `npm publish` would publish into an empty directory and uses it like a new user. `npm test`
// does not include this test, because it installs packages; `.ci/run` runs it.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { FREE_PORTS } from "../support/free-ports.ts";

const root = join(import.meta.dirname, "..", "..");
const commandTimeoutMs = 10 * 60_000;
const readyTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;

const temp = await mkdtemp(join(tmpdir(), "reelpost-packed-"));
after(() => rm(temp, { recursive: true, force: true }));

// The machine's own Node, as users have it, not the one installed by this checkout.
const PATH = process.env
  .PATH!.split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("npm_") && name !== "NODE_TEST_CONTEXT"),
  ),
  PATH,
  NO_COLOR: "1",
  ...FREE_PORTS,
};

test(
  "the packed program creates a project, checks it and handles a message; it serves and deploys a worker with a database",
  { timeout: 25 * 60_000 },
  async () => {
    const tarball = pack();
    const home = join(temp, "home");
    await mkdir(home);
    await writeFile(join(home, "package.json"), JSON.stringify({ private: true }));
    run(home, "npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", tarball);
    const reelpost = join(home, "node_modules", ".bin", "reelpost");

    const { version } = await readJson(join(root, "package.json"));
    assert.equal(run(home, reelpost, "--version").trim(), version);
    assert.match(run(home, reelpost, "--help"), /^\s+dev\s/m);

    run(temp, reelpost, "init", "my-inbox", "--yes");
    const project = join(temp, "my-inbox");
    const manifest = await readJson(join(project, "package.json"));
    await writeFile(
      join(project, "package.json"),
      JSON.stringify({ ...manifest, devDependencies: { ...manifest.devDependencies, reelpost: `file:${tarball}` } }),
    );
    run(project, "npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error");
    run(project, "npm", "run", "check");

    const server = await start(project, "dev");
    try {
      const message = await readFile(join(project, "messages", "hello.eml"));
      const response = await fetch(`${server.url}/__email`, { method: "POST", body: message });
      assert.deepEqual([response.status, await response.text()], [200, "Worker successfully processed email"]);
      const event = await server.event("email");
      assert.equal(event.outcome, "ok");
    } finally {
      assert.equal(await server.stop(), 0, `the server did not stop cleanly\n${server.log()}`);
    }
    await testTheWorker(project);
    await deploySomething(project);
  },
);

/** Tests the test helper in both module systems, with its types. */
async function testTheWorker(project: string) {
  const body = `
  const server = await createServer();
  const { outcome } = await server.worker().email({ from: "ada@example.com", to: "me@example.org", text: "Hello" });
  await server.close();
  if (outcome !== "ok") throw new Error(outcome);
`;
  await writeFile(join(project, "helper.mjs"), `import { createServer } from "reelpost/test";\n${body}`);
  await writeFile(
    join(project, "helper.cjs"),
    `const { createServer, TestServerError } = require("reelpost/test");\n(async () => {${body}
  const err = await createServer({ config: "missing.jsonc" }).catch((thrown) => thrown);
  if (!(err instanceof TestServerError) || err.fix === undefined) throw err;
})();`,
  );
  for (const name of ["helper.mjs", "helper.cjs"]) run(project, "node", name);
  const typed = (outcome: string) =>
    `import { createServer } from "reelpost/test";
     const result = await (await createServer()).worker().email({ from: "a@b.example", to: "c@d.example", text: "" });
     export const isOk: boolean = result.outcome === ${JSON.stringify(outcome)};`;
  const options = "--noEmit --strict --skipLibCheck --ignoreConfig --module nodenext --target es2024";
  const tsc = (file: string) =>
    run(
      project,
      join(project, "node_modules", ".bin", "tsc"),
      ...options.split(" "),
      "--types",
      "@cloudflare/workers-types",
      file,
    );
  await writeFile(join(project, "typed.mts"), typed("ok"));
  await writeFile(join(project, "wrong.mts"), typed("fine"));
  tsc("typed.mts");
  assert.throws(() => tsc("wrong.mts"), /"fine"/);
}

/**
 * Code in separate processes and modules must also find its files in the package: SQL imports, workers in both formats.
 */
async function deploySomething(project: string) {
  const server = await start(project, "serve", "--data-dir", join(temp, "platform"));
  try {
    const { api, token, account } = server.ready;
    const folder = join(temp, "counter");
    await mkdir(folder);
    const where = ["--url", api!, "--token", token!, "--account", account!.id];
    const reelpost = (...args: string[]) =>
      run(folder, join(project, "node_modules", ".bin", "reelpost"), ...args, ...where);
    const { uuid } = JSON.parse(reelpost("d1", "create", "counter", "--json")) as { uuid: string };
    await writeFile(
      join(folder, "seed.sql"),
      "create table seen (name text); insert into seen values ('ada'), ('grace');",
    );
    await writeFile(
      join(folder, "wrangler.jsonc"),
      JSON.stringify({
        name: "counter",
        main: "worker.js",
        compatibility_date: "2026-10-01",
        d1_databases: [{ binding: "DB", database_name: "counter", database_id: uuid }],
      }),
    );
    await writeFile(
      join(folder, "worker.js"),
      `addEventListener("fetch", (event) => event.respondWith(DB.prepare("select count(*) as n from seen").first("n").then((n) => new Response("seen " + n))));`,
    );
    reelpost("d1", "execute", "counter", "--file", "seed.sql", "--yes");
    reelpost("deploy");
    const response = await fetch(`${server.url}/workers/counter/`);
    assert.deepEqual([response.status, await response.text()], [200, "seen 2"]);
    // Pages and browser code are built before packing.
    const documentation = await fetch(`${new URL(server.ready.dashboard!).origin}/docs/settings`);
    assert.deepEqual([documentation.status, (await documentation.text()).includes("<h1>Settings</h1>")], [200, true]);
    const sdk = await fetch(`${server.url}/embed/sdk.latest.js`);
    assert.deepEqual(
      [sdk.status, sdk.headers.get("content-type")?.split(";")[0], (await sdk.text()).includes("Stream")],
      [200, "text/javascript", true],
    );
  } finally {
    assert.equal(await server.stop(), 0, `the server did not stop cleanly\n${server.log()}`);
  }
}

function pack(): string {
  const output = run(root, "npm", "pack", "--json", "--loglevel=error", "--pack-destination", temp);
  // `prepack` may print before the result.
  const [result] = JSON.parse(output.slice(output.indexOf("[\n"))) as [{ filename: string; files: { path: string }[] }];
  const strangers = result.files
    .map(({ path }) => path)
    .filter((path) => /\.(test|testing|conformance)\.js$/.test(path) || /^(src|test|bench|docs)\//.test(path));
  assert.deepEqual(strangers, [], "files that only the repository needs");
  return join(temp, result.filename);
}

function run(cwd: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: commandTimeoutMs,
  });
  if (error !== undefined) throw error;
  assert.equal(status, 0, `${command} ${args.join(" ")} exited with code ${status}\n${stdout}\n${stderr}`);
  return stdout;
}

interface Event {
  event: string;
  url?: string;
  dashboard?: string;
  outcome?: string;
  api?: string;
  token?: string;
  account?: { id: string };
}

async function start(project: string, ...command: string[]) {
  const child = spawn(
    join(project, "node_modules", ".bin", "reelpost"),
    [...command, "--json", "--port", "0", "--smtp-port", "0"],
    { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] },
  );
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-4096)));
  const exited = new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("exit", (code) => resolve(code)),
  );
  const events: Event[] = [];
  let onOutput = () => {};
  createInterface({ input: child.stdout }).on("line", (line) => {
    events.push(JSON.parse(line) as Event);
    onOutput();
  });
  const event = (name: string) =>
    new Promise<Event>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no event "${name}" after ${readyTimeoutMs / 1000} s\n${stderr}`)),
        readyTimeoutMs,
      );
      onOutput = () => {
        const found = events.find((candidate) => candidate.event === name);
        if (found === undefined) return;
        clearTimeout(timer);
        resolve(found);
      };
      onOutput();
      exited.then((code) => reject(new Error(`reelpost ${command[0]} exited with code ${code}\n${stderr}`)), reject);
    });
  const ready = await event("ready").catch((err: unknown) => {
    child.kill("SIGKILL");
    throw err;
  });
  return {
    url: ready.url!,
    ready,
    event,
    log: () => stderr,
    /** Stops the server. Resolves with its exit code; null if it had to be killed. */
    stop: async () => {
      const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
      child.kill("SIGTERM");
      const code = await exited;
      clearTimeout(timer);
      return code;
    },
  };
}

const readJson = async (file: string) =>
  JSON.parse(await readFile(file, "utf8")) as { version: string; devDependencies: Record<string, string> };
