import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { UserError } from "../kernel/index.ts";
import { isStoreError, openFsObjects } from "../store/index.ts";
import {
  countRows,
  createData,
  createOptions,
  filesOf,
  keyMark,
  migrations,
  newKey,
  createTestFolder,
  type TestData,
} from "./backup.testing.ts";
import {
  createBackup,
  generateIdentity,
  openBackupFolder,
  restoreBackup,
  RESTORE_MARK,
  verifyBackup,
} from "./index.ts";

const isBackupError = (kind: string) => (err: unknown) =>
  err instanceof UserError && err.domain === "backup" && err.kind === kind;

function restoreOptions(t: TestContext, folder: string, { key }: Pick<TestData, "key">) {
  const dataDirectory = join(createTestFolder(t), "restored");
  return {
    dataDirectory,
    objects: join(dataDirectory, "objects"),
    folder,
    secrets: { key: key.trim(), key_file: "" },
    keyMark,
    migrations,
    dryRun: false,
  };
}

function expectRestored({ dataDirectory }: { dataDirectory: string }, notes: number) {
  assert.equal(countRows(join(dataDirectory, "reelpost.sqlite"), "notes"), notes);
  for (let id = 0; id < notes; id++)
    assert.match(readFileSync(join(dataDirectory, `objects/notes/${id}`), "utf8"), new RegExp(`^note ${id}\n`));
  assert.equal(countRows(join(dataDirectory, "d1/one.sqlite")), 5);
  const [owner] = readdirSync(join(dataDirectory, "durable-objects"));
  const [namespace] = readdirSync(join(dataDirectory, "durable-objects", owner!));
  const [object] = readdirSync(join(dataDirectory, "durable-objects", owner!, namespace!));
  assert.equal(countRows(join(dataDirectory, "durable-objects", owner!, namespace!, object!)), 7);
  assert.equal(readFileSync(join(dataDirectory, "d1/.home"), "utf8"), "home\n");
  assert.ok(!existsSync(join(dataDirectory, RESTORE_MARK)));
}

test("restores rows, objects, D1 databases and Durable Objects", async (t) => {
  const data = await createData(t);
  const folder = join(createTestFolder(t), "backups");
  const { manifest } = await createBackup(createOptions(data, folder));
  assert.equal(manifest.rows, 21);
  assert.equal(manifest.secrets_key, "separate");
  assert.deepEqual((await verifyBackup({ folder })).problems, []);
  const options = restoreOptions(t, folder, data);
  const dry = await restoreBackup({ ...options, dryRun: true });
  assert.ok(dry.freeBytes! > 0);
  assert.ok(!existsSync(options.dataDirectory), "a dry run writes nothing");
  assert.equal((await restoreBackup(options)).rows, 21);
  expectRestored(options, 20);
  assert.equal(statSync(join(options.dataDirectory, "objects/notes/1")).mode & 0o777, 0o600);
});

test("the next backup copies only new data, and only the newest backups are kept", async (t) => {
  const data = await createData(t);
  const folder = join(createTestFolder(t), "backups");
  await createBackup(createOptions(data, folder));
  const second = await createBackup(createOptions(data, folder));
  assert.equal(second.manifest.added_files, 0);
  await data.addNote(20, "note 20\n");
  const store = await openFsObjects({ folder: data.objects });
  await store.delete(["notes/3"]);
  const third = await createBackup({ ...createOptions(data, folder), keep: 1 });
  assert.equal(third.manifest.added_files, 2, "the object, and the file with the rows of the table");
  assert.equal(third.removed.length, 2);
  assert.ok(third.freedBytes > 0);
  const reader = await openBackupFolder(folder);
  const { manifests } = await reader.list().finally(() => reader.close());
  assert.deepEqual(
    manifests.map(({ id }) => id),
    [third.manifest.id],
  );
  assert.deepEqual((await verifyBackup({ folder })).problems, []);
});

test("a backup contains the objects of its rows even if they are deleted or replaced during the backup", async (t) => {
  const data = await createData(t);
  const store = await openFsObjects({ folder: data.objects });
  const folder = join(createTestFolder(t), "backups");
  let changes: Promise<unknown> | undefined;
  const options = {
    ...createOptions(data, folder),
    onProgress({ step }: { step: string }) {
      if (step !== "rows" || changes !== undefined) return;
      // The rows have been read: the backup needs these objects.
      changes = Promise.all([store.delete(["notes/1", "notes/2"]), store.put("notes/3", Buffer.from("replaced"))]);
    },
  };
  await createBackup(options);
  assert.ok(changes !== undefined);
  await changes;
  assert.equal(await store.open("notes/1"), undefined);
  const target = restoreOptions(t, folder, data);
  await restoreBackup(target);
  expectRestored(target, 20);
  assert.ok(!existsSync(join(data.objects, ".held")));
});

test("an interrupted backup is not listed, and the next one reuses the files that it stored", async (t) => {
  const data = await createData(t);
  const folder = join(createTestFolder(t), "backups");
  await assert.rejects(
    createBackup({
      ...createOptions(data, folder),
      onProgress({ step, files }) {
        if (step === "objects" && files > 15) throw new Error("interrupted");
      },
    }),
    /interrupted/,
  );
  const reader = await openBackupFolder(folder);
  assert.deepEqual((await reader.list()).manifests, []);
  await assert.rejects(reader.find(), isBackupError("noBackup"));
  reader.close();
  const { manifest } = await createBackup(createOptions(data, folder));
  assert.ok(manifest.added_files < manifest.files - 5, `${manifest.added_files} of ${manifest.files} files`);
  assert.deepEqual((await verifyBackup({ folder })).problems, []);
});

describe("an encrypted backup", () => {
  async function encrypted(t: TestContext) {
    const data = await createData(t);
    const folder = join(createTestFolder(t), "backups");
    const { identity, recipient } = await generateIdentity();
    const identityFile = join(createTestFolder(t), "key.txt");
    writeFileSync(identityFile, `# created by a test\n${identity}\n`);
    const options = { ...createOptions(data, folder), recipients: [recipient] };
    await createBackup(options);
    return { data, folder, identityFile, options };
  }

  test("contains the secrets key, and reveals neither names nor contents", async (t) => {
    const { data, folder, identityFile, options } = await encrypted(t);
    for (const path of Object.keys(filesOf(folder))) {
      const bytes = readFileSync(join(folder, path), "latin1");
      assert.doesNotMatch(bytes, /notes\/1|note 1|durable-objects|secrets-key/, path);
      if (path.startsWith("contents/")) assert.match(bytes, /^age-encryption\.org\/v1\n/);
    }
    const again = await createBackup(options);
    assert.equal(again.manifest.added_files, 0, "the next backup shares the encrypted files");
    const target = { ...restoreOptions(t, folder, data), secrets: { key: "", key_file: "" }, identityFile };
    assert.equal((await restoreBackup(target)).secretsKey, "backup");
    expectRestored(target, 20);
    assert.equal(readFileSync(join(target.dataDirectory, "secrets.key"), "utf8"), data.key);
    assert.equal(statSync(join(target.dataDirectory, "secrets.key")).mode & 0o777, 0o600);
  });

  test("can be partly verified without an identity, and fully with one", async (t) => {
    const { folder, identityFile } = await encrypted(t);
    assert.deepEqual((await verifyBackup({ folder })).depth, "stored");
    const complete = await verifyBackup({ folder, identityFile });
    assert.equal(complete.depth, "all");
    assert.deepEqual(complete.problems, []);
  });

  test("rejects a missing, wrong or unusable identity, and an unusable recipient", async (t) => {
    const { data, folder, options } = await encrypted(t);
    const target = restoreOptions(t, folder, data);
    await assert.rejects(restoreBackup(target), isBackupError("identityNeeded"));
    const other = join(createTestFolder(t), "other.txt");
    writeFileSync(other, (await generateIdentity()).identity);
    await assert.rejects(restoreBackup({ ...target, identityFile: other }), isBackupError("wrongIdentity"));
    await assert.rejects(verifyBackup({ folder, identityFile: other }), isBackupError("wrongIdentity"));
    writeFileSync(other, "AGE-SECRET-KEY-nonsense");
    await assert.rejects(restoreBackup({ ...target, identityFile: other }), (err: Error) => {
      assert.doesNotMatch(err.message, /nonsense/, "the error does not show the key");
      return isBackupError("badIdentity")(err);
    });
    await assert.rejects(restoreBackup({ ...target, identityFile: `${other}.absent` }), isBackupError("notReadable"));
    await assert.rejects(createBackup({ ...options, recipients: ["age1nonsense"] }), isBackupError("badRecipient"));
    assert.ok(!existsSync(target.dataDirectory));
  });
});

describe("the secrets key", () => {
  test("must be passed to the restore if the backup does not contain it", async (t) => {
    const data = await createData(t);
    const folder = join(createTestFolder(t), "backups");
    await createBackup(createOptions(data, folder));
    const target = restoreOptions(t, folder, data);
    await assert.rejects(restoreBackup({ ...target, secrets: { key: "", key_file: "" } }), isBackupError("keyNeeded"));
    await assert.rejects(
      restoreBackup({ ...target, secrets: { key: newKey().trim(), key_file: "" } }),
      isBackupError("wrongKey"),
    );
    assert.ok(!existsSync(target.dataDirectory));
    const secretsKeyFile = join(data.dataDirectory, "secrets.key");
    await restoreBackup({ ...target, secrets: { key: "", key_file: "" }, secretsKeyFile });
    assert.equal(readFileSync(join(target.dataDirectory, "secrets.key"), "utf8"), data.key);
  });

  test("is stored in an unencrypted backup only on request", async (t) => {
    const data = await createData(t);
    const folder = join(createTestFolder(t), "backups");
    await createBackup({ ...createOptions(data, folder), withSecretsKey: true });
    const target = { ...restoreOptions(t, folder, data), secrets: { key: "", key_file: "" } };
    assert.equal((await restoreBackup(target)).secretsKey, "backup");
    assert.equal(readFileSync(join(target.dataDirectory, "secrets.key"), "utf8"), data.key);
  });
});

test("verify lists the files that are missing, truncated or changed, and restore rejects the backup", async (t) => {
  const data = await createData(t);
  const folder = join(createTestFolder(t), "backups");
  await createBackup(createOptions(data, folder));
  const reader = await openBackupFolder(folder);
  const manifest = await reader.find();
  const contents = new Map<string, string>();
  for await (const { path, content } of reader.files(manifest, undefined)) contents.set(path, reader.pathOf(content));
  reader.close();
  rmSync(contents.get("objects/notes/1")!);
  truncateSync(contents.get("objects/notes/2")!, 10);
  const changed = contents.get("d1/one.sqlite")!;
  const bytes = readFileSync(changed);
  bytes[200] = bytes[200]! ^ 1;
  writeFileSync(changed, bytes);
  const { problems } = await verifyBackup({ folder });
  assert.deepEqual(problems, [
    { path: "d1/one.sqlite", problem: "its bytes were changed" },
    { path: "objects/notes/1", problem: "it is missing" },
    { path: "objects/notes/2", problem: `it has 10 bytes instead of ${"note 2\n".length * 100}` },
  ]);
  const target = restoreOptions(t, folder, data);
  await assert.rejects(restoreBackup({ ...target, dryRun: true }), isBackupError("damaged"));
  await assert.rejects(restoreBackup(target), isBackupError("damaged"));
  assert.ok(existsSync(join(target.dataDirectory, RESTORE_MARK)), "the server does not start with it");

  // After the damaged files are deleted, the next backup stores the missing files again.
  for (const path of ["objects/notes/2", "d1/one.sqlite"]) rmSync(contents.get(path)!);
  await createBackup(createOptions(data, folder));
  assert.deepEqual((await verifyBackup({ folder })).problems, []);

  const list = join(folder, "backups", `${manifest.id}.json`);
  writeFileSync(list, readFileSync(list, "utf8").replace('"rows": 21', '"rows": 22'));
  await assert.rejects(verifyBackup({ folder, id: manifest.id }), isBackupError("damaged"));
  await assert.rejects(verifyBackup({ folder, id: "absent" }), isBackupError("unknownBackup"));
});

test("a restore rejects a file whose bytes were changed without changing its size", async (t) => {
  const data = await createData(t);
  const folder = join(createTestFolder(t), "backups");
  await createBackup(createOptions(data, folder));
  const reader = await openBackupFolder(folder);
  for await (const { path, content } of reader.files(await reader.find(), undefined))
    if (path === "objects/notes/5") writeFileSync(reader.pathOf(content), "note 6\n".repeat(100));
  reader.close();
  const target = restoreOptions(t, folder, data);
  await assert.rejects(restoreBackup(target), /the bytes of objects\/notes\/5 were changed/);
  assert.ok(!existsSync(join(target.objects, "notes/5")));
});

test("an interrupted restore resumes, and existing data is never overwritten", async (t) => {
  const data = await createData(t);
  const folder = join(createTestFolder(t), "backups");
  await createBackup(createOptions(data, folder));
  const target = restoreOptions(t, folder, data);
  await assert.rejects(
    restoreBackup({
      ...target,
      onProgress({ step }) {
        if (step === "rows") throw new Error("interrupted");
      },
    }),
    isBackupError("restoreFailed"),
  );
  assert.ok(existsSync(join(target.dataDirectory, RESTORE_MARK)));
  await restoreBackup(target);
  expectRestored(target, 20);
  await assert.rejects(restoreBackup(target), isBackupError("targetNotEmpty"));
  expectRestored(target, 20);
});

describe("a backup folder", () => {
  test("is rejected if it contains other files, is inside the data directory, or is in use", async (t) => {
    const data = await createData(t);
    const foreign = createTestFolder(t);
    writeFileSync(join(foreign, "photo.jpg"), "");
    await assert.rejects(createBackup(createOptions(data, foreign)), isBackupError("foreignFolder"));
    await assert.rejects(openBackupFolder(foreign), isBackupError("noFolder"));
    await assert.rejects(
      createBackup(createOptions(data, join(data.dataDirectory, "backups"))),
      isBackupError("insideData"),
    );
    const folder = join(createTestFolder(t), "backups");
    await createBackup(createOptions(data, folder));
    const reader = await openBackupFolder(folder);
    await assert.rejects(createBackup(createOptions(data, folder)), isBackupError("folderInUse"));
    reader.close();
  });

  test("is rejected with the reason if it cannot be written", async (t) => {
    const data = await createData(t);
    const file = join(createTestFolder(t), "file");
    writeFileSync(file, "");
    await assert.rejects(createBackup(createOptions(data, join(file, "below"))), isBackupError("notWritable"));
    if (process.geteuid?.() === 0) return;
    const readOnly = join(createTestFolder(t), "read-only");
    mkdirSync(readOnly);
    chmodSync(readOnly, 0o500);
    await assert.rejects(createBackup(createOptions(data, readOnly)), isBackupError("notWritable"));
  });

  test("is not written from a data directory without data, or with a database file that is not a database", async (t) => {
    const data = await createData(t);
    const folder = join(createTestFolder(t), "backups");
    await assert.rejects(
      createBackup({ ...createOptions(data, folder), dataDirectory: createTestFolder(t) }),
      isBackupError("noData"),
    );
    const other = createTestFolder(t);
    mkdirSync(join(other, "objects"));
    writeFileSync(join(other, "reelpost.sqlite"), "not a database".repeat(100));
    await assert.rejects(
      createBackup({ ...createOptions(data, folder), dataDirectory: other, objects: join(other, "objects") }),
      (err) => isStoreError(err, "notADatabase"),
    );
  });
});

test("a damaged D1 database does not prevent the backup: the file is copied unchanged, with a warning", async (t) => {
  const data = await createData(t);
  writeFileSync(join(data.dataDirectory, "d1/broken.sqlite"), "not a database".repeat(100));
  const folder = join(createTestFolder(t), "backups");
  const { manifest } = await createBackup(createOptions(data, folder));
  assert.equal(manifest.warnings.length, 1);
  assert.match(manifest.warnings[0]!, /^d1\/broken\.sqlite is damaged/);
  assert.deepEqual((await verifyBackup({ folder })).problems, []);
  const target = restoreOptions(t, folder, data);
  await restoreBackup(target);
  assert.equal(readFileSync(join(target.dataDirectory, "d1/broken.sqlite"), "utf8"), "not a database".repeat(100));
});
