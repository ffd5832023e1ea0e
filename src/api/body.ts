import { messageOf, UserError } from "../kernel/index.ts";
import { apiErrors } from "./errors.ts";
import { checkJsonShape } from "./json-shape.ts";

const MIB = 1024 * 1024;
export const DEFAULT_BODY_BYTES = MIB;

/** Maximum number of parts in a form: enough for the modules and other fields of a worker. */
const MAX_PARTS = 5000;

interface BodyBounds {
  /** Maximum size in bytes. */
  limit: number;
  /** Called with the number of bytes as they arrive; if it throws, reading stops. */
  reserveMemory?(octets: number): void;
}

/**
 * Reads the whole body. Throws bodyTooLarge as soon as the limit is exceeded, and brokeOff if the client disconnects.
 */
export async function readBounded(request: Request, { limit, reserveMemory }: BodyBounds): Promise<Uint8Array> {
  const declaredLength = Number(request.headers.get("content-length") ?? 0);
  if (declaredLength > limit) throw apiErrors.bodyTooLarge({ limit });
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let refusal: unknown;
  try {
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > limit) throw apiErrors.bodyTooLarge({ limit });
      if (refusal !== undefined) continue;
      try {
        reserveMemory?.(chunk.length);
        chunks.push(chunk);
      } catch (thrown) {
        // Drains the rest: an unread body would close the connection, and the client would never receive the response.
        refusal = thrown;
        chunks.length = 0;
      }
    }
  } catch (cause) {
    // A client that disconnects does not cause a server error.
    throw cause instanceof UserError ? cause : apiErrors.brokeOff({}, { cause });
  }
  if (refusal !== undefined) throw refusal;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/**
 * Parses JSON regardless of the content type, because some clients send text/plain. Undefined for an empty body. Throws
 * badJson, tooManyValues, tooDeep.
 */
export function parseJson(bytes: Uint8Array, maxValues?: number): unknown {
  if (bytes.length === 0) return undefined;
  checkJsonShape(bytes, maxValues);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw apiErrors.badJson({ reason: messageOf(cause) }, { cause });
  }
}

export async function readForm(request: Request, bounds: BodyBounds): Promise<FormData> {
  const type = request.headers.get("content-type") ?? "";
  // Checked before the body is read, to reject other content types immediately.
  checkForm(type);
  return parseForm(await readBounded(request, bounds), type);
}

/** Throws badMultipart, also if the content type is not a form. */
export async function parseForm(bytes: Uint8Array, type: string): Promise<FormData> {
  checkForm(type);
  checkParts(bytes, type);
  try {
    return await new Response(bytes as Uint8Array<ArrayBuffer>, { headers: { "content-type": type } }).formData();
  } catch (cause) {
    throw apiErrors.badMultipart({ reason: messageOf(cause) }, { cause });
  }
}

function checkForm(type: string): void {
  if (!/^multipart\/form-data/i.test(type))
    throw apiErrors.badMultipart({ reason: `the content type is ${type === "" ? "absent" : JSON.stringify(type)}` });
}

/** Counts the parts before parsing: each of a million empty parts would become a File. */
function checkParts(bytes: Uint8Array, type: string): void {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type);
  if (boundary === null) return;
  const delimiter = Buffer.from(`--${boundary[1] ?? boundary[2]}`);
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let parts = 0;
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    // The last boundary only closes the form.
    if (++parts > MAX_PARTS + 1) throw apiErrors.badMultipart({ reason: `it has more than ${MAX_PARTS} parts` });
  }
}
