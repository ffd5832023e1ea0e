import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { createLog, createManualClock, silentLog, systemClock, UserError } from "../kernel/index.ts";
import { createFileCertificates, loadOrCreateSelfSigned, makeSelfSigned } from "./index.ts";

const pairFor = (name: string) => makeSelfSigned({ names: [name], clock: systemClock });
const nameOf = ({ cert }: { cert: string }) => new X509Certificate(cert).subjectAltName;

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-tls-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns a log and a counter of its warnings. */
function counted() {
  const lines: string[] = [];
  const log = createLog({
    level: "warn",
    destination: { write: (line: string) => lines.push(line) } as unknown as NodeJS.WritableStream,
  });
  return { log, warnings: () => lines.length };
}

async function filesIn(
  t: TestContext,
  options: { log?: ReturnType<typeof counted>["log"]; pair?: { cert: string; key: string } } = {},
) {
  const folder = await folderOf(t);
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const put = async ({ cert, key }: { cert?: string; key?: string }) => {
    if (cert !== undefined) await writeFile(certFile, cert);
    if (key !== undefined) await writeFile(keyFile, key);
  };
  await put(options.pair ?? pairFor("first.example"));
  const clock = createManualClock(Date.now());
  const open = async () => {
    const certificates = await createFileCertificates({ certFile, keyFile, clock, log: options.log ?? silentLog });
    t.after(() => certificates.close());
    return certificates;
  };
  return { folder, certFile, keyFile, put, clock, open };
}

describe("certificates from files", () => {
  test("are reloaded automatically when the files change", async (t) => {
    const { put, clock, open } = await filesIn(t);
    const certificates = await open();
    assert.equal(nameOf(certificates.pem()), "DNS:first.example");
    const received = new Promise<void>((resolve) => certificates.onChange(resolve));
    await put(pairFor("second.example"));
    clock.advance(5000);
    await received;
    assert.equal(nameOf(certificates.pem()), "DNS:second.example");
  });

  test("are reloaded when the target of a symbolic link changes, as with certbot and Kubernetes", async (t) => {
    const folder = await folderOf(t);
    for (const [version, name] of [
      ["1", "first.example"],
      ["2", "second.example"],
    ] as const) {
      const { cert, key } = pairFor(name);
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, "cert.pem"), cert);
      await writeFile(join(folder, version, "key.pem"), key);
    }
    await symlink("1", join(folder, "live"));
    const certificates = await createFileCertificates({
      certFile: join(folder, "live/cert.pem"),
      keyFile: join(folder, "live/key.pem"),
      clock: createManualClock(Date.now()),
      log: silentLog,
    });
    t.after(() => certificates.close());
    await symlink("2", join(folder, "next"));
    await rename(join(folder, "next"), join(folder, "live"));
    await certificates.refresh();
    assert.equal(nameOf(certificates.pem()), "DNS:second.example");
  });

  test("are not served while certificate and key do not match, which is logged once and not during a replacement", async (t) => {
    const { log, warnings } = counted();
    const { put, open, keyFile } = await filesIn(t, { log });
    const certificates = await open();
    const second = pairFor("second.example");
    await put({ cert: second.cert });
    await certificates.refresh();
    assert.equal(warnings(), 0);
    assert.equal(nameOf(certificates.pem()), "DNS:first.example");
    await put({ key: second.key });
    await certificates.refresh();
    assert.equal(nameOf(certificates.pem()), "DNS:second.example");

    await put({ key: "nonsense" });
    for (let i = 0; i < 4; i++) await certificates.refresh();
    assert.equal(warnings(), 1);
    await rm(keyFile);
    for (let i = 0; i < 4; i++) await certificates.refresh();
    assert.equal(warnings(), 2);
    assert.equal(nameOf(certificates.pem()), "DNS:second.example");
    assert.ok(certificates.context());
  });

  test("are rejected at start with a fix if they cannot be read", async (t) => {
    const refused = (kind: string) => (err: unknown) =>
      err instanceof UserError && err.kind === kind && err.fix !== undefined;
    const { put, open, certFile } = await filesIn(t, {
      pair: { cert: pairFor("a.example").cert, key: pairFor("b.example").key },
    });
    await assert.rejects(open(), refused("badPair"));
    await put({ cert: "nothing" });
    await assert.rejects(open(), refused("badPair"));
    await rm(certFile);
    await assert.rejects(open(), refused("unreadable"));
  });

  test("are still served after they expire, with a warning", async (t) => {
    const { log, warnings } = counted();
    const { open } = await filesIn(t, {
      log,
      pair: makeSelfSigned({ names: ["old.example"], days: 1, clock: { now: () => Date.now() - 10 * 86_400_000 } }),
    });
    assert.equal(nameOf((await open()).pem()), "DNS:old.example");
    assert.equal(warnings(), 1);
  });
});

describe("the self-signed certificate", () => {
  test("is created once with owner-only permissions, and replaced only when its names change or it is about to expire", async (t) => {
    const folder = await folderOf(t);
    const file = join(folder, "tls", "self-signed.pem");
    const clock = createManualClock(Date.now());
    const keep = (...names: string[]) => loadOrCreateSelfSigned({ file, names, clock });
    const first = await keep("mx.example.com", "localhost");
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await keep("mx.example.com", "localhost")).cert, first.cert);
    assert.deepEqual(await readdir(join(folder, "tls")), ["self-signed.pem"]);
    const second = await keep("mx2.example.com");
    assert.deepEqual(second.names, ["mx2.example.com"]);
    clock.advance(3640 * 86_400_000);
    const third = await keep("mx2.example.com");
    assert.notEqual(third.cert, second.cert);
    assert.ok(third.notAfter > clock.now() + 3000 * 86_400_000);
  });

  test("is replaced when it is damaged", async (t) => {
    const file = join(await folderOf(t), "self-signed.pem");
    await loadOrCreateSelfSigned({ file, names: ["a.example"], clock: systemClock });
    await writeFile(file, (await readFile(file, "utf8")).slice(0, 100));
    const again = await loadOrCreateSelfSigned({ file, names: ["a.example"], clock: systemClock });
    assert.equal(await readFile(file, "utf8"), again.cert + again.key);
  });
});
