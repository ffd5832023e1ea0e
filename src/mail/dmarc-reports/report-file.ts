import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { fromBuffer, type Entry, type ZipFile } from "yauzl";
import { readParts } from "../../protocol/dsn/index.ts";

type ReportFormat = "xml" | "json";

/** The decompressed file of a report, or the reason why it cannot be read. */
type ReportFile = { ok: true; format: ReportFormat; content: Buffer } | { ok: false; why: string };

/** Maximum size in bytes of a message that carries a report. Large receivers send about 100 KiB. */
export const MAX_REPORT_MESSAGE_BYTES = 2 * 1024 * 1024;
/** Maximum size in bytes of a decompressed report: 4 MiB of XML hold about 6,000 records. */
const MAX_REPORT_BYTES = 4 * 1024 * 1024;
/** Maximum number of files in a ZIP archive. RFC 7489 7.2.1.1 allows one. */
const MAX_ARCHIVE_FILES = 10;

const TOO_LARGE = `the report is larger than ${MAX_REPORT_BYTES} bytes when it is decompressed`;
const unzipGzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);

/**
 * Finds the report in a message: the first part that is a GZIP file, a ZIP archive, or starts like XML or JSON (RFC
 * 7489 7.2.1.1, RFC 8460 5.3). Media types are ignored, since many reporters send application/octet-stream. Never
 * rejects.
 */
export async function readReportFile(message: Buffer): Promise<ReportFile> {
  if (message.length > MAX_REPORT_MESSAGE_BYTES)
    return failureOf(`the message is larger than ${MAX_REPORT_MESSAGE_BYTES} bytes`);
  try {
    for (const { type, body } of readParts(message).leaves) {
      if (type === "text/html" || type === "text/plain") continue;
      if (body[0] === 0x1f && body[1] === 0x8b) return await fromGzip(body);
      if (body.toString("latin1", 0, 4) === "PK\x03\x04") return await fromZip(body);
      if (formatOf(body) !== undefined) return read(body);
    }
    return failureOf("the message has no report attached");
  } catch (err) {
    return failureOf(`the attachment cannot be decompressed: ${(err as Error).message}`);
  }
}

const failureOf = (why: string): ReportFile => ({ ok: false, why });

/** Returns the format of a report according to its first character, which a byte order mark may precede. */
function formatOf(body: Buffer): ReportFormat | undefined {
  const first = /^(?:\xef\xbb\xbf)?\s*([<{])/.exec(body.toString("latin1", 0, 64))?.[1];
  return first === "<" ? "xml" : first === "{" ? "json" : undefined;
}

function read(content: Buffer): ReportFile {
  const format = formatOf(content);
  if (format === undefined) return failureOf("the attachment is neither XML nor JSON");
  return content.length > MAX_REPORT_BYTES ? failureOf(TOO_LARGE) : { ok: true, format, content };
}

async function fromGzip(body: Buffer): Promise<ReportFile> {
  try {
    return read(await unzipGzip(body, { maxOutputLength: MAX_REPORT_BYTES }));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return failureOf(TOO_LARGE);
    throw err;
  }
}

async function fromZip(body: Buffer): Promise<ReportFile> {
  const archive = await openArchive(body);
  if (archive.entryCount > MAX_ARCHIVE_FILES) return failureOf(`the archive has more than ${MAX_ARCHIVE_FILES} files`);
  const entry = await findEntry(archive);
  if (entry === undefined) return failureOf("the archive has no .xml or .json file");
  // The size in the archive's directory may be false, so the stream is limited too.
  if (entry.uncompressedSize > MAX_REPORT_BYTES) return failureOf(TOO_LARGE);
  return await contentOf(archive, entry);
}

const openArchive = (body: Buffer): Promise<ZipFile> =>
  new Promise((resolve, reject) =>
    fromBuffer(body, { lazyEntries: true, validateEntrySizes: true }, (err, archive) =>
      err ? reject(err) : resolve(archive),
    ),
  );

function findEntry(archive: ZipFile): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    archive
      .on("error", reject)
      .on("end", () => resolve(undefined))
      .on("entry", (entry: Entry) => {
        if (/\.(?:xml|json)$/i.test(entry.fileName)) resolve(entry);
        else archive.readEntry();
      });
    archive.readEntry();
  });
}

function contentOf(archive: ZipFile, entry: Entry): Promise<ReportFile> {
  return new Promise((resolve, reject) => {
    archive.openReadStream(entry, (err, stream) => {
      if (err) return reject(err);
      const chunks: Buffer[] = [];
      let length = 0;
      stream
        .on("error", reject)
        .on("end", () => resolve(read(Buffer.concat(chunks))))
        .on("data", (chunk: Buffer) => {
          length += chunk.length;
          chunks.push(chunk);
          if (length <= MAX_REPORT_BYTES) return;
          resolve(failureOf(TOO_LARGE));
          stream.destroy();
        });
    });
  });
}
