import { messageOf, UserError } from "../kernel/index.ts";
import { apiErrors } from "./errors.ts";
import { checkJsonShape } from "./json-shape.ts";

const MIB = 1024 * 1024;
export const DEFAULT_BODY_BYTES = MIB;

/** Parts of one form: more modules than a worker may have, and the fields around them. */
const MAX_PARTS = 5000;

export interface BodyBounds {
  /** Octets. */
  limit: number;
  /** Told of octets as they come; what it throws ends the reading. */
  take?(octets: number): void;
}

/** The whole body, or bodyTooLarge as soon as it is known to be. Throws brokeOff when the client goes away before its end. */
export async function readBounded(request: Request, { limit, take }: BodyBounds): Promise<Uint8Array> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > limit) throw apiErrors.bodyTooLarge({ limit });
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
        take?.(chunk.length);
        chunks.push(chunk);
      } catch (thrown) {
        // Read to its end all the same: a body that is left in the middle takes the connection with it, and with that the answer.
        refusal = thrown;
        chunks.length = 0;
      }
    }
  } catch (cause) {
    // A client that goes away is no failure of ours.
    throw cause instanceof UserError ? cause : apiErrors.brokeOff({}, { cause });
  }
  if (refusal !== undefined) throw refusal;
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** JSON whatever the content type: real clients send it as text/plain. Undefined for an empty body. Throws badJson, tooManyValues, tooDeep. */
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
  // Before the body is read: what is no form is refused at once.
  checkForm(type);
  return parseForm(await readBounded(request, bounds), type);
}

/** Throws badMultipart, also for a content type that is none of a form. */
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

/** Counted before it is parsed: each of a million empty parts would become a file of its own. */
function checkParts(bytes: Uint8Array, type: string): void {
  const boundary = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(type);
  if (boundary === null) return;
  const line = Buffer.from(`--${boundary[1] ?? boundary[2]}`);
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let parts = 0;
  for (let at = body.indexOf(line); at >= 0; at = body.indexOf(line, at + line.length)) {
    // The last one closes the form.
    if (++parts > MAX_PARTS + 1) throw apiErrors.badMultipart({ reason: `it has more than ${MAX_PARTS} parts` });
  }
}
