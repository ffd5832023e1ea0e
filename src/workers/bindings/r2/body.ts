import { r2Errors } from "./errors.ts";
import type { ObjectBody } from "./object.ts";

/**
 * Passes the body to the store and throws as soon as its size is known to differ from the announced one or to exceed
 * `most` bytes. If a body throws, the store never makes it visible.
 */
export function withSizeLimit(
  body: ObjectBody,
  { size, most }: { size: number | undefined; most: number },
): ObjectBody {
  if (size !== undefined && size > most) throw r2Errors.entityTooLarge();
  if (!(body instanceof Uint8Array)) return measuredStream(body, size, most);
  if (body.length > most) throw r2Errors.entityTooLarge();
  if (size !== undefined && body.length !== size) throw r2Errors.incompleteBody({ size });
  return body;
}

async function* measuredStream(body: AsyncIterable<Uint8Array>, size: number | undefined, most: number) {
  let seen = 0;
  for await (const chunk of body) {
    seen += chunk.length;
    if (size !== undefined && seen > size) throw r2Errors.incompleteBody({ size });
    if (seen > most) throw r2Errors.entityTooLarge();
    yield chunk;
  }
  if (size !== undefined && seen !== size) throw r2Errors.incompleteBody({ size });
}
