import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import { hasCeph } from "../../scripts/system.ts";
import type { Scope } from "./databases.ts";
import { isFree } from "./free-ports.ts";
import { cephConfiguration, PORTS } from "./radosgw-configuration.ts";

/** Address and credentials of an S3 server. */
interface S3Address {
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** Ceph's S3 server (radosgw) with one monitor and one in-memory OSD. All listeners are on 127.0.0.1. */
interface S3Server extends S3Address {
  stop(): Promise<void>;
}

/** A server for a single test, which can kill and restart it. The OSD keeps the objects. */
interface PrivateS3Server extends S3Server {
  /** Kills radosgw with SIGKILL. */
  kill(): Promise<void>;
  /** Restarts radosgw on the same port. */
  restart(): Promise<void>;
}

/** scripts/test.ts starts one server for all test files and passes its address in this variable, as JSON. */
export const SHARED_S3_VARIABLE = "REELPOST_TEST_S3";

const s3Available = (): boolean => Boolean(process.env[SHARED_S3_VARIABLE]) || hasCeph();

/** Resolves with the shared server, or a private one; undefined if Ceph is not installed. */
export async function startS3(): Promise<S3Server | undefined> {
  const shared = process.env[SHARED_S3_VARIABLE];
  if (shared) return { ...(JSON.parse(shared) as S3Address), stop: async () => {} };
  return hasCeph() ? startPrivateS3() : undefined;
}

/** A test bucket with its credentials. It is removed when `scope` ends. */
export interface TestBucket extends S3Address {
  bucket: string;
  /** A value for `objects.url`. */
  url: string;
  /** The credentials as environment variables of a process. */
  env: { AWS_ACCESS_KEY_ID: string; AWS_SECRET_ACCESS_KEY: string };
}

/**
 * Registers `suite` if an S3 server is available. Without one its tests are skipped with a message; with REQUIRE_ALL=1
 * they fail.
 *
 * onS3((openBucket) => test("keeps a rule", async (t) => { const { url } = await openBucket(t); ... }));
 */
export function onS3(suite: (openBucket: (scope: Scope) => Promise<TestBucket>) => void): void {
  if (s3Available()) {
    describe("on S3", () => {
      let server: Promise<S3Server | undefined> | undefined;
      after(async () => (await server)?.stop());
      suite(async (scope) => openBucket(scope, (await (server ??= startS3()))!));
    });
  } else if (process.env["REQUIRE_ALL"] === "1") {
    test("on S3", () =>
      Promise.reject(
        new Error("Ceph is not installed, and REQUIRE_ALL=1 forbids skipping: node scripts/system.ts test"),
      ));
  } else {
    process.stderr.write(
      "!! Ceph is not installed, the tests on an S3 server are skipped. To install it: node scripts/system.ts test\n",
    );
    test("on S3", { skip: "Ceph is not installed" }, () => {});
  }
}

/** Creates a bucket, which is removed with its objects when `scope` ends. */
export async function openBucket(scope: Scope, server: S3Address): Promise<TestBucket> {
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const bucket = `t-${randomBytes(8).toString("hex")}`;
  const client = createS3Client(server);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  scope.after(async () => {
    // The test may have killed the server.
    await removeBucket(client, bucket).catch(() => {});
    client.destroy();
  });
  return {
    endpoint,
    region,
    accessKeyId,
    secretAccessKey,
    bucket,
    url: `s3://${bucket}?endpoint=${encodeURIComponent(endpoint)}&region=${region}`,
    env: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
  };
}

/** Creates a client that is independent of the driver under test. */
export const createS3Client = ({ endpoint, region, accessKeyId, secretAccessKey }: S3Address): S3Client =>
  new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });

async function removeBucket(client: S3Client, bucket: string): Promise<void> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  for (const { Key, UploadId } of Uploads)
    await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }));
  for (;;) {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    if (Contents.length === 0) break;
    const Objects = Contents.map(({ Key }) => ({ Key }));
    await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }));
  }
  await client.send(new DeleteBucketCommand({ Bucket: bucket }));
}

const START_TIMEOUT_MS = 60_000;

/** Starts a private server. Takes one to three seconds. */
export async function startPrivateS3(): Promise<PrivateS3Server> {
  for (let attempt = 1; ; attempt++) {
    // Ceph accepts at most 107 bytes for the paths of its sockets.
    const folder = mkdtempSync(join(tmpdir(), "rp-s3-"));
    try {
      return await startIn(folder, await freePorts());
    } catch (err) {
      rmSync(folder, { recursive: true, force: true });
      // Another process may have bound one of the ports in the meantime.
      if (attempt === 3) throw err;
    }
  }
}

async function startIn(folder: string, port: number): Promise<PrivateS3Server> {
  const user = { accessKeyId: randomBytes(10).toString("hex"), secretAccessKey: randomBytes(20).toString("hex") };
  writeFileSync(join(folder, "ceph.conf"), cephConfiguration({ folder, port, clusterId: randomUUID() }));
  const script = ["-c", GUARD, "guard", folder, randomUUID(), user.accessKeyId, user.secretAccessKey];
  // Detached, so that Ctrl-C reaches only this process; the guard cleans up when this process ends.
  const guard = spawn("/bin/sh", script, { cwd: folder, stdio: ["pipe", "pipe", "ignore"], detached: true });
  guard.stdin.on("error", () => {});
  const replies = createInterface({ input: guard.stdout });
  const output = guard.stdout as unknown as { ref(): void; unref(): void };

  /** Resolves with the next reply of the guard. Only a pending reply keeps this process alive. */
  async function replied(): Promise<void> {
    output.ref();
    await reply(replies, guard);
    output.unref();
  }
  async function order(word: string): Promise<void> {
    guard.stdin!.write(`${word}\n`);
    await replied();
  }

  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  await replied();
  await gatewayStarted(port, guard);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    region: "default",
    ...user,
    kill: () => order("kill"),
    async restart() {
      await order("start");
      await gatewayStarted(port, guard);
    },
    stop: () => end(guard),
  };
}

// The guard briefly outlives this process: when its stdin closes, regardless of how this process ends, it kills the
// daemons and removes the folder. If the guard itself is killed, the daemons are killed, too (setpriv). A client of
// Ceph that stays behind would wait for a monitor indefinitely, and join the next cluster on the same port.
const GUARD = `
folder=$1
finish() {
  kill -KILL $monitor $osd $gateway 2>/dev/null
  wait
  rm -rf "$folder"
}
trap finish EXIT
daemon() { setpriv --pdeathsig KILL "$@" -c "$folder/ceph.conf" -f >>"$folder/out" 2>&1 </dev/null & }
step() {
  timeout -s KILL 45 "$@" -c "$folder/ceph.conf" >>"$folder/out" 2>&1 </dev/null && return
  echo "failed: $*: $(tail -n 5 "$folder/out" | tr '\\n' ' ')"
  exit 1
}
start_gateway() { daemon radosgw -n client.rgw; gateway=$!; }
mkdir "$folder/mon" "$folder/osd" "$folder/run"
step ceph-mon --mkfs -i a
daemon ceph-mon -i a; monitor=$!
step ceph osd new "$2" 0
step ceph-osd -i 0 --mkfs --osd-uuid "$2"
daemon ceph-osd -i 0; osd=$!
step radosgw-admin user create --uid=test --display-name=test --access-key="$3" --secret-key="$4" --max-buckets=100000
start_gateway
echo started
while read -r order; do
  case $order in
    kill) kill -KILL $gateway; wait $gateway 2>/dev/null ;;
    start) start_gateway ;;
    *) break ;;
  esac
  echo done
done
`;

function reply(replies: Interface, guard: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      replies.off("line", onLine);
      guard.off("exit", onExit);
    };
    const onLine = (line: string) => {
      settle();
      if (line.startsWith("failed")) reject(new Error(`Ceph did not start: ${line}`));
      else resolve();
    };
    const onExit = () => {
      settle();
      reject(new Error("the guard of Ceph ended"));
    };
    replies.once("line", onLine);
    guard.once("exit", onExit);
  });
}

async function gatewayStarted(port: number, guard: ChildProcess): Promise<void> {
  const answers = () =>
    new Promise<boolean>((resolve) => {
      get({ host: "127.0.0.1", port, agent: false }, (response) => {
        response.resume();
        resolve(true);
      }).on("error", () => resolve(false));
    });
  for (const deadline = Date.now() + START_TIMEOUT_MS; !(await answers()); await sleep(20)) {
    if (Date.now() < deadline && guard.exitCode === null) continue;
    await end(guard);
    throw new Error(`radosgw did not answer on port ${port}`);
  }
}

async function end(guard: ChildProcess): Promise<void> {
  if (guard.exitCode !== null || guard.signalCode !== null) return;
  guard.ref();
  const ended = new Promise((resolve) => guard.once("exit", resolve));
  guard.stdin!.end();
  await ended;
}

/** Finds the first of PORTS consecutive free ports, below those that the system assigns. */
async function freePorts(): Promise<number> {
  for (;;) {
    const first = randomInt(10_000, 32_000);
    const free = await Promise.all(Array.from({ length: PORTS }, (_, n) => isFree(first + n)));
    if (free.every(Boolean)) return first;
  }
}
