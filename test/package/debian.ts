// Builds the Debian package, installs it into an empty root with dpkg, and runs the installed program. `npm test` does
// not include this test, because it installs packages; `.ci/run` runs it.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { FREE_PORTS } from "../support/free-ports.ts";

const repository = join(import.meta.dirname, "..", "..");
const temp = await mkdtemp(join(tmpdir(), "reelpost-deb-"));
after(() => rm(temp, { recursive: true, force: true }));
const root = join(temp, "root");
const at = (path: string) => join(root, path);

const isReady = process.getuid?.() === 0 && spawnSync("dpkg-deb", ["--version"]).status === 0;
const skip = !isReady && process.env["REQUIRE_ALL"] !== "1" && "needs root and dpkg";

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: repository,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 10 * 60_000,
  });
  if (error !== undefined) throw error;
  assert.equal(status, 0, `${command} ${args.join(" ")} exited with code ${status}\n${stdout}\n${stderr}`);
  return stdout;
}

/**
 * Runs dpkg with a separate root. Dependencies are those of the machine, and maintainer scripts run outside of that
 * root.
 */
const dpkg = (...args: string[]) =>
  run(
    "dpkg",
    `--root=${root}`,
    `--log=${join(temp, "dpkg.log")}`,
    "--force-depends,script-chrootless,unsafe-io",
    ...args,
  );

test("the Debian package can be installed, run, upgraded and removed", { skip, timeout: 15 * 60_000 }, async (t) => {
  const file = run(process.execPath, join(repository, "scripts/debian.ts"), "--out", temp).trim();
  for (const path of ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc", "var/lib"])
    await mkdir(at(path), { recursive: true });
  await writeFile(at("var/lib/dpkg/status"), "");
  for (const name of ["passwd", "group", "shadow", "gshadow"]) await writeFile(at(`etc/${name}`), "");
  dpkg("--install", file);

  await t.test(
    "creates a user and a key that only root can read, and installs units that systemd accepts",
    async () => {
      assert.match(
        await readFile(at("etc/passwd"), "utf8"),
        /^reelpost:x:\d+:\d+:.*:\/var\/lib\/reelpost:\/usr\/sbin\/nologin$/m,
      );
      const environment = at("etc/reelpost/environment");
      const [, key] = /^REELPOST_SECRETS_KEY=(.+)$/m.exec(await readFile(environment, "utf8"))!;
      assert.deepEqual([Buffer.from(key!, "base64").length, (await stat(environment)).mode & 0o777], [32, 0o600]);
      const unit = at("usr/lib/systemd/system/reelpost.service");
      assert.match(
        await readFile(unit, "utf8"),
        /^ExecStart=\/usr\/bin\/reelpost serve --settings \/etc\/reelpost\/settings.jsonc$/m,
      );
      // The program is installed at this path only in the test root.
      const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8" });
      assert.deepEqual(
        `${stdout ?? ""}${stderr ?? ""}`
          .split("\n")
          .filter((line) => line.startsWith(root) || /unknown|invalid|failed to parse/i.test(line)),
        [],
      );
    },
  );

  await t.test("runs with its own Node.js and the installed settings", async () => {
    const program = at("usr/bin/reelpost");
    const { version } = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as { version: string };
    const env = { PATH: "/usr/bin:/bin", HOME: temp };
    assert.equal(spawnSync(program, ["--version"], { env, encoding: "utf8" }).stdout.trim(), version);
    const server = spawn(
      program,
      ["serve", "--json", "--settings", at("etc/reelpost/settings.jsonc"), "--port", "0", "--smtp-port", "0"],
      { env: { ...env, ...FREE_PORTS, REELPOST_DATA_DIR: join(temp, "data") }, stdio: ["ignore", "pipe", "pipe"] },
    );
    let log = "";
    server.stderr.setEncoding("utf8").on("data", (text: string) => (log = (log + text).slice(-4096)));
    const exited = once(server, "exit");
    const timer = setTimeout(() => server.kill("SIGKILL"), 60_000);
    try {
      const ready = await Promise.race([
        once(createInterface({ input: server.stdout }), "line").then(
          ([line]) => JSON.parse(line as string) as { url: string },
        ),
        exited.then(([code]) => Promise.reject(new Error(`the server exited with code ${code}\n${log}`))),
      ]);
      assert.equal((await fetch(`${ready.url}/healthz`)).status, 200);
      assert.equal((await fetch(`${ready.url}/embed/sdk.latest.js`)).status, 200);
    } finally {
      server.kill("SIGTERM");
      assert.deepEqual(await exited, [0, null], log);
      clearTimeout(timer);
    }
  });

  await t.test("an upgrade keeps the key and changed settings", async () => {
    const key = await readFile(at("etc/reelpost/environment"), "utf8");
    await writeFile(at("etc/reelpost/settings.jsonc"), `{ "http": { "port": 80 } }\n`);
    dpkg("--install", file);
    assert.equal(await readFile(at("etc/reelpost/environment"), "utf8"), key);
    assert.match(await readFile(at("etc/reelpost/settings.jsonc"), "utf8"), /"port": 80/);
  });

  await t.test("removing keeps the configuration and the data, and purging keeps only the data", async () => {
    await mkdir(at("var/lib/reelpost"));
    await writeFile(at("var/lib/reelpost/reelpost.sqlite"), "data");
    dpkg("--remove", "reelpost");
    assert.deepEqual(
      [
        existsSync(at("usr/lib/reelpost")),
        existsSync(at("usr/bin/reelpost")),
        existsSync(at("etc/reelpost/environment")),
      ],
      [false, false, true],
    );
    dpkg("--purge", "reelpost");
    assert.deepEqual(
      [existsSync(at("etc/reelpost")), await readFile(at("var/lib/reelpost/reelpost.sqlite"), "utf8")],
      [false, "data"],
    );
  });
});
