import { UserError } from "../../../kernel/index.ts";
import { workerErrors, type Upload } from "../../../workers/index.ts";
import { parseForm } from "../../body.ts";
import type { Call } from "../../operation.ts";
import { UPLOAD_BYTES } from "./common.ts";
import { isScriptType, readScriptBody, readUploadForm, type Main, type UploadOptions } from "./upload-form.ts";

/**
 * Reads the upload from a request body: a form, or a single script. Throws scriptTooLarge, badMultipart and the errors
 * of readUploadForm.
 */
export async function receiveUpload(call: Call, options: UploadOptions = {}): Promise<Upload> {
  const bytes = await bytesOf(call);
  const contentType = call.request.headers.get("content-type") ?? "";
  const formType = formTypeOf(contentType, bytes);
  if (formType === undefined && isScriptType(contentType)) return readScriptBody(bytes, contentType);
  const main = options.main ?? mainFromHeaders(call.request.headers);
  return readUploadForm(await parseForm(bytes, formType ?? contentType), {
    ...options,
    ...(main !== undefined && { main }),
  });
}

async function bytesOf(call: Call): Promise<Uint8Array> {
  try {
    return await call.bytes();
  } catch (thrown) {
    // Clients list large dependencies only if they receive this specific code.
    if (thrown instanceof UserError && thrown.kind === "bodyTooLarge")
      throw workerErrors.scriptTooLarge(
        { limit: `${UPLOAD_BYTES / 1024 / 1024} MiB`, size: "more" },
        { cause: thrown },
      );
    throw thrown;
  }
}

/**
 * The SDK sends forms as `application/javascript` without a boundary; the body begins with the boundary, which is
 * impossible for a script.
 */
function formTypeOf(contentType: string, bytes: Uint8Array): string | undefined {
  if (/;\s*boundary=/i.test(contentType)) return contentType;
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 200)).toString("latin1");
  const boundary = /^--([\w'()+,./:=?-]{1,70})\r\nContent-Disposition: *form-data/i.exec(start)?.[1];
  return boundary === undefined ? undefined : `multipart/form-data; boundary="${boundary}"`;
}

/** For the content endpoints, a header instead of metadata specifies the main part. */
function mainFromHeaders(headers: Headers): Main | undefined {
  const module = headers.get("cf-worker-main-module-part");
  if (module) return { name: module, format: "modules" };
  const script = headers.get("cf-worker-body-part");
  return script ? { name: script, format: "service-worker" } : undefined;
}
