import { streamErrors } from "../../../stream/index.ts";
import type { Call } from "../../operation.ts";

export const isForm = ({ request }: Pick<Call, "request">): boolean =>
  /^multipart\/form-data/i.test(request.headers.get("content-type") ?? "");

/**
 * Resolves with the bytes of the part `file`, which some clients send as a plain field. Throws badParameter if it is
 * missing.
 */
export async function filePart(form: FormData): Promise<Uint8Array> {
  const file = form.get("file");
  if (file === null) throw streamErrors.badParameter({ reason: "the form has no part named file" });
  return typeof file === "string" ? Buffer.from(file) : new Uint8Array(await file.arrayBuffer());
}
