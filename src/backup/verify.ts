import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf, UserError } from "../kernel/index.ts";
import { readIdentities, type Decryption } from "./encryption.ts";
import { forEachParallel, digestStream, withDigest, readFileStream, writeSynced, type ContentDigest } from "./files.ts";
import { openBackupFolder, type BackupFolder } from "./folder.ts";
import type { BackupFile, BackupManifest } from "./manifest.ts";
import { readRowFile } from "./rows.ts";
import { sqliteProblem } from "./sqlite-files.ts";

interface VerifyOptions {
  folder: string;
  /** Default: the newest backup. */
  id?: string | undefined;
  identityFile?: string | undefined;
  onProgress?: (progress: { files: number; bytes: number }) => void;
}

export interface VerifyResult {
  manifest: BackupManifest;
  /** "stored": an encrypted backup without an identity, whose stored bytes are intact. */
  depth: "stored" | "all";
  contents: number;
  bytes: number;
  problems: { path: string; problem: string }[];
}

const MAX_CONCURRENCY = 4;

/**
 * Reads a backup completely and compares everything with its hashes; also reads rows and databases, if they are not
 * encrypted or an identity is given. Throws BackupError for a backup that cannot be read at all.
 */
export async function verifyBackup({
  folder: path,
  id,
  identityFile,
  onProgress,
}: VerifyOptions): Promise<VerifyResult> {
  const decryption = identityFile === undefined ? undefined : await readIdentities(identityFile);
  const folder = await openBackupFolder(path);
  try {
    const manifest = await folder.find(id);
    const contents = await folder.contentsOf(manifest);
    const damaged = new Map<string, string>();
    let progress = { files: 0, bytes: 0 };
    await forEachParallel(contents, MAX_CONCURRENCY, async ({ name, size, sha256 }) => {
      const problem = await storedProblem(folder.pathOf(name), { size, sha256 });
      if (problem !== undefined) damaged.set(name, problem);
      progress = { files: progress.files + 1, bytes: progress.bytes + size };
      onProgress?.(progress);
    });
    const isReadable = manifest.recipients.length === 0 || decryption !== undefined;
    const lists = new Set(manifest.lists);
    const isListDamaged = manifest.lists.some((name) => damaged.has(name));
    const problems =
      isReadable && !isListDamaged
        ? await fileProblems({
            folder,
            manifest,
            decryption,
            known: new Set(contents.map(({ name }) => name)),
            damaged,
          })
        : [...damaged].map(([name, problem]) => ({
            path: lists.has(name) ? `${name} (list of files)` : name,
            problem,
          }));
    return {
      manifest,
      depth: isReadable ? "all" : "stored",
      contents: contents.length,
      bytes: progress.bytes,
      problems,
    };
  } finally {
    folder.close();
  }
}

async function storedProblem(path: string, expected: ContentDigest): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (size !== expected.size) return `it has ${size} bytes instead of ${expected.size}`;
    const { sha256 } = await digestStream(readFileStream(path));
    return sha256 === expected.sha256 ? undefined : "its bytes were changed";
  } catch (err) {
    return (err as NodeJS.ErrnoException).code === "ENOENT" ? "it is missing" : messageOf(err);
  }
}

interface Checked {
  folder: BackupFolder;
  manifest: BackupManifest;
  decryption: Decryption | undefined;
  known: ReadonlySet<string>;
  damaged: ReadonlyMap<string, string>;
}

async function fileProblems({
  folder,
  manifest,
  decryption,
  known,
  damaged,
}: Checked): Promise<VerifyResult["problems"]> {
  const problems: VerifyResult["problems"] = [];
  const scratch = await mkdtemp(join(tmpdir(), "reelpost-verify-"));
  const damagedLater = new Set(manifest.warnings.map((warning) => warning.split(" ")[0]!));
  let count = 0;
  let files = 0;
  try {
    await forEachParallel(folder.files(manifest, decryption), MAX_CONCURRENCY, async (file) => {
      files++;
      const problem =
        damaged.get(file.content) ??
        (known.has(file.content) ? undefined : "its content is not listed") ??
        (await contentProblem(file));
      if (problem !== undefined) problems.push({ path: file.path, problem });
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  if (files !== manifest.files)
    problems.push({ path: "list of files", problem: `it has ${files} files instead of ${manifest.files}` });
  return problems.sort((a, b) => (a.path < b.path ? -1 : 1));

  async function contentProblem(file: BackupFile): Promise<string | undefined> {
    const isRows = file.path.startsWith("rows/");
    // A database that was already damaged when it was backed up does not make the backup invalid.
    const isDatabase =
      file.path.endsWith(".sqlite") && !file.path.startsWith("objects/") && !damagedLater.has(file.path);
    // The hash of the stored bytes has been compared.
    if (decryption === undefined && !isRows && !isDatabase)
      return file.content === file.sha256 ? undefined : "its bytes were changed";
    const bytes = folder.read(manifest, file.content, decryption);
    let found: ContentDigest | undefined;
    const counted = withDigest(bytes, (written) => (found = written));
    try {
      if (isRows) for await (const _ of (await readRowFile(counted)).rows);
      else if (isDatabase) {
        const copy = join(scratch, `${++count}.sqlite`);
        await writeSynced(copy, counted);
        const problem = sqliteProblem(copy);
        await rm(copy);
        if (problem !== undefined) return problem;
      } else for await (const _ of counted);
    } catch (err) {
      if (err instanceof UserError && err.kind === "wrongIdentity") throw err;
      return messageOf(err);
    }
    return found?.sha256 === file.sha256 && found.size === file.size ? undefined : "its bytes were changed";
  }
}
