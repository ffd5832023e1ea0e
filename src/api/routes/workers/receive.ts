import { UserError } from "../../../kernel/index.ts";
import { workerErrors, type Upload } from "../../../workers/index.ts";
import type { Call } from "../../operation.ts";
import { UPLOAD_BYTES } from "./common.ts";
import { isScriptType, readScriptBody, readUploadForm, type Main, type UploadOptions } from "./upload-form.ts";

/** The upload in the body of a request: a form, or a script alone. Throws scriptTooLarge, badMultipart and what readUploadForm throws. */
export async function receiveUpload(call: Call, options: UploadOptions = {}): Promise<Upload> {
  const contentType = call.request.headers.get("content-type") ?? "";
  const main = options.main ?? mainFromHeaders(call.request.headers);
  try {
    if (isScriptType(contentType)) return readScriptBody(await call.bytes(), contentType);
    return await readUploadForm(await call.form(), { ...options, ...(main !== undefined && { main }) });
  } catch (thrown) {
    // Its own code is what makes clients say which dependencies are large.
    if (thrown instanceof UserError && thrown.kind === "bodyTooLarge") throw workerErrors.scriptTooLarge({ limit: `${UPLOAD_BYTES / 1024 / 1024} MiB`, size: "more" }, { cause: thrown });
    throw thrown;
  }
}

/** The content endpoints take the main part's name in a header instead of metadata. */
function mainFromHeaders(headers: Headers): Main | undefined {
  const module = headers.get("cf-worker-main-module-part");
  if (module) return { name: module, format: "modules" };
  const script = headers.get("cf-worker-body-part");
  return script ? { name: script, format: "service-worker" } : undefined;
}
