import { open } from "node:fs/promises";
import { messageOf, type Clock, type Log } from "../kernel/index.ts";
import type { TlsPem } from "../kernel/tls-source.ts";
import type { Certificates } from "./certificates.ts";
import { certificateErrors } from "./errors.ts";
import { createCertificateStore } from "./held.ts";
import { parseKeyPair } from "./pair.ts";

interface FileCertificatesOptions {
  /** PEM: the certificate and its chain. */
  certFile: string;
  /** PEM: its private key. */
  keyFile: string;
  clock: Clock;
  log: Log;
  /** Interval for polling the files. Default 5 s. A file watcher would miss renewals through symbolic links. */
  pollMs?: number;
}

const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Certificates from two files written by another program. If a changed pair does not match, the previous pair remains
 * in use. Rejects with UserError badPair or unreadable if the files are unusable at start.
 */
export async function createFileCertificates({
  certFile,
  keyFile,
  clock,
  log,
  pollMs = 5000,
}: FileCertificatesOptions): Promise<Certificates> {
  let lastContent = await read();
  const store = createCertificateStore(firstPair(lastContent));
  const stopController = new AbortController();
  let lastProblem: string | undefined;
  warnOfAge();

  async function read(): Promise<TlsPem> {
    return { cert: await readNonEmpty(certFile), key: await readNonEmpty(keyFile) };
  }

  function firstPair(content: TlsPem) {
    try {
      return parseKeyPair(content);
    } catch (err) {
      throw certificateErrors.badPair({ cert: certFile, key: keyFile, reason: messageOf(err) }, { cause: err });
    }
  }

  function warnOfAge() {
    const [{ notAfter }] = store.current();
    if (notAfter <= clock.now())
      log.warn({ certFile, expired: new Date(notAfter).toISOString() }, "tls: certificate expired");
  }

  async function refresh() {
    let content: TlsPem | undefined;
    try {
      content = await read();
      if (content.cert === lastContent.cert && content.key === lastContent.key) {
        lastProblem = undefined;
        return;
      }
      store.replace([parseKeyPair(content)]);
      lastContent = content;
      lastProblem = undefined;
      log.info({ certFile }, "tls: certificate replaced");
      warnOfAge();
    } catch (err) {
      const now = `${content?.cert} ${content?.key} ${messageOf(err)}`;
      // Certificate and key do not match while they are being written, so only a persistent mismatch is logged, and
      // only once.
      if (lastProblem === now)
        log.warn(
          { err, certFile, keyFile },
          "tls: changed certificate files are invalid; keeping the previous certificate",
        );
      lastProblem = lastProblem === now || lastProblem === `said ${now}` ? `said ${now}` : now;
    }
  }

  async function watch() {
    while (!stopController.signal.aborted) {
      await clock.sleep(pollMs, stopController.signal).catch(() => {});
      if (!stopController.signal.aborted) await refresh();
    }
  }
  const watchTask = watch();

  return {
    context: store.context,
    pem: store.pem,
    onChange: store.onChange,
    refresh,
    async close() {
      stopController.abort();
      await watchTask;
    },
  };
}

async function readNonEmpty(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
      return buffer.toString("latin1", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (err) {
    throw certificateErrors.unreadable({ path, reason: messageOf(err) }, { cause: err });
  }
}
