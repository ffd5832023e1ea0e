import { Readable } from "node:stream";
import { Fault } from "../../../kernel/index.ts";
import { isStoreError, type ObjectHandle, type ObjectStore } from "../../../store/index.ts";
import type { ObjectRange } from "./object.ts";
import { blobKey, type Removal } from "./removal.ts";
import { blobOwner, type ObjectRow, type PartRow } from "./schema.ts";
import type { UploadTable } from "./upload-table.ts";

interface Piece {
  blob: string;
  start: number;
  /** Inclusive. */
  end: number;
}

/** An object up to this size is read whole, which is cheaper for the store than a stream. */
const BUFFERED_READ_MAX_BYTES = 64 * 1024;
/** Bytes of a multipart object that are read ahead. */
const READ_AHEAD = 1024 * 1024;

/** Opens bytes for reading and prevents their deletion until the stream ends or is destroyed. */
export function createContents({
  objects,
  uploads,
  removal,
}: {
  objects: ObjectStore;
  uploads: UploadTable;
  removal: Removal;
}) {
  /** Resolves with undefined if the bytes are gone: the row was read before the object was overwritten or deleted. */
  async function open(row: ObjectRow, range: ObjectRange): Promise<Readable | undefined> {
    if (range.length === 0) return Readable.from([]);
    const endRead = removal.beginRead(blobOwner(row));
    if (!endRead) return undefined;
    try {
      const body = row.upload_id === null ? await openPlain(row, range) : await openParts(row, row.upload_id, range);
      if (body) body.once("close", endRead);
      else endRead();
      return body;
    } catch (err) {
      endRead();
      throw err;
    }
  }

  async function openPlain(row: ObjectRow, { offset, length }: ObjectRange) {
    const handle = await objects.open(blobKey(row.bucket, row.version));
    if (handle && length === row.size && length <= BUFFERED_READ_MAX_BYTES) return readWhole(handle);
    return handle?.read({ start: offset, end: offset + length - 1 });
  }

  async function openParts(row: ObjectRow, uploadId: string, range: ObjectRange) {
    // All parts but the last have the same size, so the rows before the range need not be read.
    const first = Math.floor(range.offset / row.part_size!);
    const last = Math.floor((range.offset + range.length - 1) / row.part_size!);
    // Reads the whole list up front: these rows are deleted with the object, while the deletion of its bytes waits for
    // this reader. At most 10,000 rows.
    const parts = await uploads.parts(uploadId, first, last - first + 1);
    const pieces = sliceParts(parts, first * row.part_size!, range);
    if (!pieces) return undefined;
    return Readable.from(readPieces(row.bucket, pieces), { objectMode: false, highWaterMark: READ_AHEAD });
  }

  async function* readPieces(bucket: string, pieces: Piece[]) {
    for (const { blob, start, end } of pieces) {
      const handle = await objects.open(blobKey(bucket, blob));
      if (!handle) throw new Fault(`part ${blobKey(bucket, blob)} of an object that is being read is missing`);
      yield* handle.read({ start, end });
    }
  }

  return { open };
}

async function readWhole(handle: ObjectHandle): Promise<Readable | undefined> {
  try {
    return Readable.from([await handle.bytes()]);
  } catch (err) {
    if (isStoreError(err, "objectChanged")) return undefined;
    throw err;
  }
}

/**
 * Returns the range to read from each part; undefined if the parts end before the range does. `partOffset`: offset of
 * the first part in the object.
 */
function sliceParts(parts: PartRow[], partOffset: number, { offset, length }: ObjectRange): Piece[] | undefined {
  const end = offset + length;
  const pieces: Piece[] = [];
  for (const { blob, size } of parts) {
    if (size > 0)
      pieces.push({ blob, start: Math.max(offset - partOffset, 0), end: Math.min(end - partOffset, size) - 1 });
    partOffset += size;
  }
  return partOffset >= end ? pieces : undefined;
}
