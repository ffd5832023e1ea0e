import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "../kernel/index.ts";
import { parseKeyPair, type CertificateKeyPair } from "./pair.ts";
import { makeSelfSigned } from "./self-signed.ts";

interface KeptOptions {
  /** File that stores certificate and key, readable only by its owner. Its folder is created if missing. */
  file: string;
  /** Host names; at least one. */
  names: readonly string[];
  clock: Clock;
}

const DAY_MS = 86_400_000;
const RENEW_BEFORE_MS = 30 * DAY_MS;

/**
 * Resolves with a self-signed certificate, created once and reused at every start, so that clients that trust it keep
 * working. Replaced when the names change.
 */
export async function loadOrCreateSelfSigned({ file, names, clock }: KeptOptions): Promise<CertificateKeyPair> {
  const storedPair = await readStored(file);
  if (
    storedPair !== undefined &&
    storedPair.notAfter - clock.now() > RENEW_BEFORE_MS &&
    storedPair.names.join() === names.join()
  )
    return storedPair;
  const generatedPair = makeSelfSigned({ names, clock });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  const fileHandle = await open(temporary, "wx", 0o600);
  try {
    await fileHandle.writeFile(generatedPair.cert + generatedPair.key);
    await fileHandle.sync();
  } finally {
    await fileHandle.close();
  }
  await rename(temporary, file);
  return generatedPair;
}

async function readStored(file: string): Promise<CertificateKeyPair | undefined> {
  try {
    const text = await readFile(file, "latin1");
    const end = text.indexOf("-----BEGIN PRIVATE KEY-----");
    return parseKeyPair({ cert: text.slice(0, end), key: text.slice(end) });
  } catch {
    // Missing or damaged: a new one is created.
    return undefined;
  }
}
