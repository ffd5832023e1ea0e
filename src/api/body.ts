import { messageOf } from "../kernel/index.ts";
import { apiErrors } from "./errors.ts";

const MIB = 1024 * 1024;
export const DEFAULT_BODY_BYTES = MIB;

/** The whole body, or bodyTooLarge as soon as it is known to be. */
export async function readBounded(request: Request, limit: number): Promise<Uint8Array> {
  const announced = Number(request.headers.get("content-length") ?? 0);
  if (announced > limit) throw apiErrors.bodyTooLarge({ limit });
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > limit) throw apiErrors.bodyTooLarge({ limit });
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** JSON whatever the content type: real clients send it as text/plain. Undefined for an empty body. */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  const bytes = await readBounded(request, limit);
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw apiErrors.badJson({ reason: messageOf(cause) }, { cause });
  }
}

export async function readForm(request: Request, limit: number): Promise<FormData> {
  const type = request.headers.get("content-type") ?? "";
  // Before the body is read: what is no form is refused at once.
  checkForm(type);
  return parseForm(await readBounded(request, limit), type);
}

/** Throws badMultipart, also for a content type that is none of a form. */
export async function parseForm(bytes: Uint8Array, type: string): Promise<FormData> {
  checkForm(type);
  try {
    return await new Response(bytes as Uint8Array<ArrayBuffer>, { headers: { "content-type": type } }).formData();
  } catch (cause) {
    throw apiErrors.badMultipart({ reason: messageOf(cause) }, { cause });
  }
}

function checkForm(type: string): void {
  if (!/^multipart\/form-data/i.test(type)) throw apiErrors.badMultipart({ reason: `the content type is ${type === "" ? "absent" : JSON.stringify(type)}` });
}
