import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { startReelpostMailServer } from "../bench/smtp-accept/ours.ts";
import { startLoad, type LoadTarget } from "./backup/load.ts";
import type { Drill, DrillContext } from "./harness/drill.ts";

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const WARM_UP_MS = 15_000;

/**
 * Backs up a server under load, kills it, restores the backup elsewhere, and checks every write that was acknowledged
 * before the backup started. An overwritten or deleted value may have any later version, but must be complete.
 */
const drill: Drill = {
  name: "backup",
  async run(kit) {
    const port = 1; // The next hop is unreachable: accepted messages stay in the queue.
    const ours = await startReelpostMailServer(kit, {
      sinkPort: port,
      env: { REELPOST_OUTBOUND_FORWARD: "queue", REELPOST_API_RATE_LIMIT: "0", REELPOST_DNS_RESOLVERS: "127.0.0.1:9" },
    });
    const clip = await makeClip(kit);
    const load = await startLoad(ours, clip);
    const backups = join(kit.dir, "backups");
    const data = join(kit.dir, "reelpost");
    await wait(WARM_UP_MS / 2);
    const first = await cli(["backup", "create", backups, "--data-dir", data, "--with-secrets-key"]);
    kit.say(`first backup: ${JSON.stringify(first)}`);
    await wait(WARM_UP_MS / 2);

    const before = load.acknowledged();
    const startedAt = performance.now();
    const second = await cli(["backup", "create", backups, "--data-dir", data, "--with-secrets-key"]);
    const backupSeconds = (performance.now() - startedAt) / 1000;
    kit.say(`second backup: ${JSON.stringify(second)}`);
    const later = load.acknowledged();
    process.kill(ours.pid, "SIGKILL");
    await load.stop();
    await rm(data, { recursive: true, force: true, maxRetries: 10 });

    const verified = await cli(["backup", "verify", backups]);
    const restored = join(kit.dir, "elsewhere");
    const restoreStart = performance.now();
    await cli(["backup", "restore", backups, "--data-dir", restored]);
    const restoreSeconds = (performance.now() - restoreStart) / 1000;
    const checked = await cli(["check", "--data-dir", restored]);
    const damage = (checked["findings"] as { damage: boolean; subject: string }[]).filter((finding) => finding.damage);
    const queued = queuedMessages(restored);
    const target = await serveRestored(kit, restored, ours.token);
    const lost = await load.lost(before, target, queued);
    const summary = {
      drill: "backup",
      acknowledged: Object.values(before).reduce((sum, count) => sum + count, 0),
      acknowledged_by_kind: before,
      acknowledged_during_backup:
        Object.values(later).reduce((sum, count) => sum + count, 0) -
        Object.values(before).reduce((sum, count) => sum + count, 0),
      lost: lost.lost.length,
      partial: lost.partial.length,
      damage: damage.length,
      examples: [...lost.lost, ...lost.partial, ...damage.map(({ subject }) => subject)].slice(0, 5),
      files: second["files"],
      bytes: second["bytes"],
      added_bytes: second["added_bytes"],
      verify_problems: (verified["problems"] as unknown[]).length,
      backup_s: round(backupSeconds),
      restore_s: round(restoreSeconds),
    };
    const faults = [lost.lost, lost.partial, damage, verified["problems"] as unknown[]];
    return { summary, ok: faults.every(({ length }) => length === 0) };
  },
};
export default drill;

const wait = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));
const round = (seconds: number) => Math.round(seconds * 100) / 100;

async function cli(args: string[]): Promise<Record<string, unknown>> {
  const options = { maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run(process.execPath, [MAIN, ...args, "--json"], options).catch(
    // verify and check report problems with an exit code.
    (err: { stdout?: string }) => {
      if (err.stdout === undefined || err.stdout === "") throw err;
      return { stdout: err.stdout };
    },
  );
  const result = JSON.parse(stdout) as Record<string, unknown>;
  if ("error" in result) throw new Error(`reelpost ${args[0]} ${args[1]}: ${JSON.stringify(result["error"])}`);
  return result;
}

async function serveRestored(kit: DrillContext, data: string, token: string): Promise<LoadTarget> {
  const child = spawn(
    process.execPath,
    [MAIN, "serve", "--json", "--data-dir", data, "--port", "0", "--smtp-port", "0", "--log-level", "warn"],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ...process.env,
        REELPOST_OUTBOUND_DELIVER: "smart_host",
        REELPOST_OUTBOUND_SMART_HOSTS: "smtp://127.0.0.1:1",
        REELPOST_API_RATE_LIMIT: "0",
        ...Object.fromEntries(
          ["DASHBOARD", "DNS", "SUBMISSION", "TLS_HTTPS", "LIVE_RTMP", "LIVE_RTMPS", "LIVE_SRT"].map((name) => [
            `REELPOST_${name}_PORT`,
            "0",
          ]),
        ),
      },
    },
  );
  kit.onStop(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const ready = JSON.parse(line.toString().split("\n")[0]!) as { api: string; url: string };
  return { ...ready, token };
}

/** Bodies of the messages in the outbound queue, by the token in their subject. */
function queuedMessages(data: string): Map<string, string> {
  const db = new DatabaseSync(join(data, "reelpost.sqlite"), { readOnly: true });
  const messages = new Map<string, string>();
  try {
    const rows = db
      .prepare(
        "select id, created_at, body_in, body from outbound_messages left join outbound_bodies on message_id = id where body_in is not null",
      )
      .all() as { id: string; created_at: number; body_in: string; body: Uint8Array | null }[];
    for (const row of rows) {
      const day = new Date(row.created_at).toISOString().slice(0, 10);
      const raw =
        row.body === null
          ? readFileSync(join(data, "objects", "mail", "out", day, `${row.id}.eml`))
          : Buffer.from(row.body);
      const subject = /^Subject: message-(\d+)/m.exec(raw.toString("latin1"))?.[1];
      if (subject !== undefined) messages.set(subject, raw.toString("latin1"));
    }
  } finally {
    db.close();
  }
  return messages;
}

async function makeClip(kit: DrillContext): Promise<Buffer> {
  await mkdir(kit.dir, { recursive: true });
  const path = join(kit.dir, "clip.mp4");
  const source = ["-f", "lavfi", "-i", "testsrc=size=64x64:rate=10:duration=1"];
  await run("ffmpeg", [
    "-v",
    "error",
    ...source,
    "-c:v",
    "libx264",
    "-preset",
    "ultrafast",
    "-pix_fmt",
    "yuv420p",
    path,
  ]);
  return readFileSync(path);
}
