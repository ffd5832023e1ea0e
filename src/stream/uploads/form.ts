import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { messageOf, UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";
import { sniffed } from "./sniff.ts";

interface FormFile {
  /** The file name given by the sender. */
  name: string | undefined;
  /** Throws tooLarge, formBrokeOff. */
  body: AsyncIterable<Uint8Array>;
}

interface FormOptions {
  /** Receives the non-file fields; complete once the form is complete. */
  fields?: Map<string, string>;
  /** Returns the reason why a file with this head is rejected. Default: nonVideoReason. */
  rejectionReason?: (head: Buffer, isWhole: boolean) => string | undefined;
}

/** Allowance in addition to the file: names, boundaries, other fields. */
const FORM_OVERHEAD_BYTES = 64 * 1024;

/**
 * Reads a form (RFC 7578) as a stream: passes its first file to `storeFile` and skips the rest. Resolves when the form
 * is complete and `storeFile` has finished; if it rejects, the caller must discard the stored data. The connection
 * stays open for a response. Throws badParameter, tooLarge, notAVideo, formBrokeOff.
 */
export async function readStreamedForm<Kept>(
  incoming: IncomingMessage,
  maxBytes: number,
  storeFile: (file: FormFile) => Promise<Kept>,
  { fields, rejectionReason }: FormOptions = {},
): Promise<Kept> {
  const type = incoming.headers["content-type"] ?? "";
  if (!/^multipart\/form-data\s*;/i.test(type))
    throw streamErrors.badParameter({
      reason: `send multipart/form-data with a part named file (or use TUS: Tus-Resumable: 1.0.0), not ${JSON.stringify(type.slice(0, 80))}`,
    });
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes + FORM_OVERHEAD_BYTES) throw tooLarge(maxBytes);
  const parser = createParser(incoming);
  const { promise, resolve, reject } = Promise.withResolvers<Kept>();
  let storedFile: Promise<Kept> | undefined;
  let file: Readable | undefined;

  parser.on("field", (name, value) => void fields?.set(name, value));
  parser.on("file", (_, stream, name) => {
    if (storedFile !== undefined) return void stream.resume();
    file = stream.on("error", () => {});
    storedFile = storeFile({ name, body: fileOf(stream, maxBytes, rejectionReason) });
    storedFile.catch(reject);
  });
  parser.on("finish", () => {
    if (storedFile === undefined) reject(streamErrors.badParameter({ reason: "the form has no part named file" }));
    else storedFile.then(resolve, reject);
  });
  const handleAbort = (err: Error) => {
    reject(streamErrors.formBrokeOff({ reason: messageOf(err) }));
    file?.destroy(err);
  };
  parser.on("error", (err) => handleAbort(err as Error));
  // Unread data is lost with the connection.
  const onClose = () => {
    if (!incoming.readableEnded) handleAbort(new Error("the connection was closed"));
  };
  incoming.once("error", handleAbort).once("close", onClose);
  // The connection may have been closed during the permission check; no event would report that now.
  if (incoming.destroyed) onClose();
  incoming.pipe(parser);
  try {
    return await promise;
  } finally {
    incoming
      .off("error", handleAbort)
      .off("close", onClose)
      .on("error", () => {});
    incoming.unpipe(parser);
    // The remaining data is discarded.
    incoming.resume();
    file?.destroy();
    await Promise.allSettled([storedFile]);
  }
}

function createParser(incoming: IncomingMessage): BusboyInstance {
  try {
    return new Busboy({
      headers: incoming.headers as { "content-type": string },
      limits: { parts: 100, fields: 50, files: 10, fieldNameSize: 200, fieldSize: 16 * 1024, headerPairs: 50 },
    });
  } catch (err) {
    throw streamErrors.badParameter({ reason: `the form cannot be read: ${messageOf(err)}` });
  }
}

const tooLarge = (limit: number) =>
  streamErrors.tooLarge({
    limit,
    rule: "the maximum for an upload in one request (stream.basic_upload_mb); upload larger files with TUS",
  });

async function* fileOf(
  stream: Readable,
  maxBytes: number,
  rejectionReason: FormOptions["rejectionReason"],
): AsyncGenerator<Uint8Array> {
  try {
    yield* sniffed(stream, { maxBytes, tooLarge: () => tooLarge(maxBytes), rejectionReason });
  } catch (err) {
    throw err instanceof UserError ? err : streamErrors.formBrokeOff({ reason: messageOf(err) }, { cause: err });
  }
}
