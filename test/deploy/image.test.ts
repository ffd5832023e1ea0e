// Tests the container image without a container engine: bubblewrap runs its command as its user, on a read-only root
// with the packed program, under the same ban on new namespaces as Docker's default profile. The system's own /usr
// replaces the Debian base of the image.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { needsPrograms } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";

const root = join(import.meta.dirname, "..", "..");
const RUN_MS = 60_000;

const image = readImage(readFileSync(join(root, "deploy", "Dockerfile"), "utf8"));

describe("the container image", () => {
  test("runs as an unprivileged user with a fixed id and uses no privileged port", () => {
    assert.ok(image.uid > 0 && image.gid > 0, `USER ${image.uid}:${image.gid}`);
    assert.ok(image.ports.length > 0 && image.ports.every((port) => port > 1023), `EXPOSE ${image.ports.join(" ")}`);
  });

  test(
    "starts as its user on a read-only root without namespaces, becomes ready, sandboxes video processing, and stops on SIGTERM",
    { ...needsPrograms("bwrap", "ffmpeg", "setpriv"), timeout: 2 * RUN_MS },
    async (t) => {
      const folder = await temporaryFolder(t, "image");
      const { status, log, probe, verbose, health, ids } = await runImage(folder);
      assert.deepEqual(probe, { status: 200, body: "ready\n" }, log);
      assert.equal(health, 0, "exit code of HEALTHCHECK");
      // Real, effective, saved and file system id of the server.
      assert.deepEqual(ids, Array(4).fill(image.uid));
      const lines = verbose.split("\n");
      assert.equal(lines[0], "ready");
      assert.ok(lines.includes("ffmpeg confinement: landlock, the server's user, no network"), verbose);
      assert.ok(lines.includes("worker process users: the server's user for all accounts (warning)"), verbose);
      assert.deepEqual(status, { code: 0, signal: null }, log);
    },
  );
});

interface Image {
  uid: number;
  gid: number;
  env: Record<string, string>;
  command: string[];
  health: string[];
  ports: number[];
  volume: string;
}

/** Instructions in the last stage that determine how the program runs. */
function readImage(dockerfile: string): Image {
  const stage = dockerfile.split(/^FROM /m).at(-1)!;
  const all = (instruction: string) =>
    [...stage.matchAll(new RegExp(`^${instruction} +(.*)$`, "gm"))].map(([, value]) => value!);
  const [uid, gid] = (all("USER").at(-1) ?? "0:0").split(":").map(Number);
  return {
    uid: uid!,
    gid: gid!,
    env: Object.fromEntries(
      all("ENV").flatMap((line) => line.split(" ").map((pair) => pair.split("=") as [string, string])),
    ),
    command: JSON.parse(all("CMD").at(-1)!) as string[],
    health: JSON.parse(/CMD (\[.*\])/.exec(all("HEALTHCHECK").at(-1)!)![1]!) as string[],
    ports: all("EXPOSE").flatMap((line) => line.split(" ").map((port) => Number(port.split("/")[0]))),
    volume: all("VOLUME").at(-1)!,
  };
}

interface Outcome {
  probe: { status: number; body: string };
  verbose: string;
  /** Exit code of the image's health check. */
  health: number;
  ids: number[];
  status: { code: number | null; signal: string | null };
  log: string;
}

/** Runs inside the image: starts its command, sends requests to it, stops it, and prints an Outcome. */
async function inside({ command, health, url }: { command: string[]; health: string[]; url: string }): Promise<void> {
  const { spawn, spawnSync } = await import("node:child_process");
  const { readFileSync } = await import("node:fs");
  const { setTimeout: delay } = await import("node:timers/promises");
  const server = spawn(command[0]!, command.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [server.stdout, server.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (log += chunk));
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    server.once("close", (code, signal) => resolve({ code, signal })),
  );
  const ask = async (path: string) =>
    fetch(url + path).then(async (response) => ({ status: response.status, body: await response.text() }));
  let probe = { status: 0, body: "" };
  while (probe.status !== 200 && server.exitCode === null) probe = await ask("/readyz").catch(() => delay(50, probe));
  const ready = probe.status === 200;
  const verbose = ready ? (await ask("/readyz?verbose")).body : "";
  const ids = ready
    ? /^Uid:\s+(.*)$/m
        .exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))![1]!
        .split("\t")
        .map(Number)
    : [];
  const { status } = spawnSync(health[0]!, health.slice(1), { stdio: "ignore" });
  server.kill("SIGTERM");
  process.stdout.write(JSON.stringify({ probe, verbose, ids, health: status, status: await ended, log }));
}

async function runImage(folder: string): Promise<Outcome> {
  const program = join(folder, "package");
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  pack(program);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(data, image.uid, image.gid);
  writeFileSync(join(folder, "filter"), noNamespaces());
  const filter = openSync(join(folder, "filter"), "r");
  const input = { command: image.command, health: image.health, url: `http://127.0.0.1:${image.ports[0]}` };
  const env = {
    ...image.env,
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: "/nonexistent",
    NO_COLOR: "1",
    REELPOST_SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
    REELPOST_API_TOKEN: "t".repeat(40),
    REELPOST_DNS_RESOLVERS: "127.0.0.1:9",
  };
  const child = spawn(
    "bwrap",
    [
      "--die-with-parent",
      "--unshare-pid",
      "--unshare-ipc",
      "--unshare-net",
      ...(isRoot ? [] : ["--unshare-user", "--uid", String(image.uid), "--gid", String(image.gid)]),
      "--ro-bind",
      "/usr",
      "/usr",
      ...["bin", "sbin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
      // bubblewrap would create this directory implicitly for the bind mount, accessible to root only.
      "--tmpfs",
      "/usr/local",
      ...["/etc", "/etc/ssl", "/usr/local/bin", "/usr/local/lib", "/usr/local/lib/node_modules"].flatMap((path) => [
        "--dir",
        path,
      ]),
      "--ro-bind",
      realpathSync(process.execPath),
      "/usr/local/bin/node",
      "--ro-bind",
      program,
      "/usr/local/lib/node_modules/reelpost",
      "--ro-bind",
      join(root, "node_modules"),
      "/usr/local/lib/node_modules/reelpost/node_modules",
      "--symlink",
      "../lib/node_modules/reelpost/bin/reelpost.cjs",
      "/usr/local/bin/reelpost",
      "--remount-ro",
      "/usr/local",
      ...["/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/openssl.cnf"].flatMap((path) => [
        "--ro-bind-try",
        path,
        path,
      ]),
      "--proc",
      "/proc",
      "--dev",
      "/dev",
      "--perms",
      "1777",
      "--tmpfs",
      "/dev/shm",
      "--perms",
      "1777",
      "--tmpfs",
      "/tmp",
      "--bind",
      data,
      image.volume,
      "--remount-ro",
      "/",
      "--clearenv",
      ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
      "--seccomp",
      "3",
      "--",
      ...(isRoot
        ? [
            "setpriv",
            "--reuid",
            String(image.uid),
            "--regid",
            String(image.gid),
            "--clear-groups",
            "--bounding-set=-all",
            "--inh-caps=-all",
            "--no-new-privs",
            "--",
          ]
        : []),
      "node",
      "-e",
      `(${inside.toString()})(${JSON.stringify(input)})`,
    ],
    { stdio: ["ignore", "pipe", "pipe", filter], timeout: RUN_MS, killSignal: "SIGKILL" },
  );
  closeSync(filter);
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, "close")]);
  assert.ok(stdout.startsWith("{"), `the image did not run: ${stdout}${stderr}`);
  return JSON.parse(stdout) as Outcome;
}

/**
 * Copies the files that `npm pack` would include; dependencies are mounted from the checkout. The type checker runs
 * elsewhere.
 */
function pack(folder: string): void {
  const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: string[] };
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  for (const name of ["package.json", ...files])
    if (name !== "dist" && existsSync(join(root, name)))
      cpSync(join(root, name), join(folder, name), { recursive: true });
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(root, "scripts", "build.ts"), "--out", join(folder, "dist")],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  chmodSync(folder, 0o755);
}

/**
 * struct sock_filter[]: unshare() and clone() with CLONE_NEW* fail with EPERM, and clone3(), whose flags a filter
 * cannot see, with ENOSYS.
 */
function noNamespaces(): Buffer {
  const { clone, unshare } = process.arch === "arm64" ? { clone: 220, unshare: 97 } : { clone: 56, unshare: 272 };
  const op = (code: number, ifTrue: number, ifFalse: number, k: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt16LE(code, 0);
    bytes.writeUInt8(ifTrue, 2);
    bytes.writeUInt8(ifFalse, 3);
    bytes.writeUInt32LE(k, 4);
    return bytes;
  };
  const LOAD = 0x20,
    EQUAL = 0x15,
    ANY_BIT = 0x45,
    RETURN = 0x06;
  const ERRNO = 0x00050000,
    EPERM = 1,
    ENOSYS = 38,
    ALLOW = 0x7fff0000;
  return Buffer.concat([
    op(LOAD, 0, 0, 0),
    op(EQUAL, 0, 1, unshare),
    op(RETURN, 0, 0, ERRNO | EPERM),
    op(EQUAL, 0, 1, 435),
    op(RETURN, 0, 0, ERRNO | ENOSYS),
    op(EQUAL, 0, 3, clone),
    op(LOAD, 0, 0, 16),
    op(ANY_BIT, 0, 1, 0x7e020000),
    op(RETURN, 0, 0, ERRNO | EPERM),
    op(RETURN, 0, 0, ALLOW),
  ]);
}
