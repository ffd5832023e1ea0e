// The tests of the examples, as their users run them: with the built package, and three test runners.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { installPackage } from "../support/package-folder.ts";

const root = join(import.meta.dirname, "..", "..");
/** For each test and hook: by default 5 or 10 s, in which a server may not start on a busy machine. */
const RUNNER_LIMIT_MS = 100_000;
const RUNNERS: Record<string, string[]> = {
  forwarder: ["--test", "test/forwarder.test.ts"],
  notifier: [
    join("node_modules", "vitest", "vitest.mjs"),
    "run",
    `--testTimeout=${RUNNER_LIMIT_MS}`,
    `--hookTimeout=${RUNNER_LIMIT_MS}`,
  ],
  inbox: [join("node_modules", "jest", "bin", "jest.js"), `--testTimeout=${RUNNER_LIMIT_MS}`],
};
/** Prints how long the first and later servers of a process take to start. */
const START = `
import { createServer } from "reelpost/test";
const durations = [];
for (let i = 0; i < 4; i++) {
  const started = performance.now();
  const server = await createServer();
  durations.push(Math.round(performance.now() - started));
  const { outcome } = await server.worker().email({ from: "ada@example.com", to: "me@example.net", text: "Hi" });
  if (outcome !== "ok") throw new Error(outcome);
  await server.close();
}
console.log(durations.join(", ") + " ms");
`;
const TIMEOUT_MS = 240_000;

describe("the tests of the examples", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "reelpost-examples-"));
    const packages = await installPackage(folder, ["vitest", "jest"]);
    for (const name of Object.keys(RUNNERS)) {
      await cp(join(root, "examples", name), join(folder, name), {
        recursive: true,
        filter: (path) => !path.includes("node_modules") && !path.includes(".reelpost"),
      });
      await symlink(packages, join(folder, name, "node_modules"));
    }
  });
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  it("start a server and report how long it takes", async () => {
    await writeFile(join(folder, "forwarder", "start.mjs"), START);
    const home = join(folder, "home-start");
    await mkdir(home);
    for (const run of ["first", "second"]) {
      const { code, output } = await runNode(join(folder, "forwarder"), home, ["start.mjs"]);
      assert.equal(code, 0, output);
      process.stderr.write(`createServer() in the ${run} process: ${output}`);
    }
  });

  it("type-check with the types of the package", async () => {
    const config = {
      compilerOptions: {
        target: "es2024",
        module: "nodenext",
        types: ["node"],
        strict: true,
        skipLibCheck: true,
        noEmit: true,
      },
      include: ["*/test"],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const { code, output } = await runNode(folder, folder, [tsc, "-p", "."]);
    assert.equal(code, 0, output);
  });

  for (const [name, args] of Object.entries(RUNNERS))
    it(`${name} passes twice`, async () => {
      const home = join(folder, `home-${name}`);
      await mkdir(home);
      const durations: number[] = [];
      for (const run of ["first", "second"]) {
        const started = performance.now();
        const { code, output } = await runNode(join(folder, name), home, args);
        assert.equal(code, 0, `${run} run of ${name}:\n${output}`);
        durations.push(Math.round(performance.now() - started));
      }
      process.stderr.write(`examples/${name}: first run ${durations[0]} ms, second run ${durations[1]} ms\n`);
    });
});

/** The home directory contains the cache of compiled code, so the first run is like that of a new user. */
async function runNode(cwd: string, home: string, args: string[]): Promise<{ code: number | null; output: string }> {
  const env: NodeJS.ProcessEnv = { ...process.env, HOME: home, NO_COLOR: "1", CI: "1" };
  for (const name of ["NODE_TEST_CONTEXT", "NODE_COMPILE_CACHE", "XDG_CACHE_HOME"]) delete env[name];
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: TIMEOUT_MS });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-20_000)));
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", (status) => resolve(status)),
  );
  return { code, output };
}
