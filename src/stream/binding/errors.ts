import { defineErrors, UserError } from "../../kernel/index.ts";

/** Error messages of the hosted platform's local simulator, on which programs and their tests rely. */
const bindingErrors = defineErrors("stream-binding", {
  videoNotFound: { code: 10003, http: 404, message: "Video not found: {id}" },
  captionNotFound: { code: 10003, http: 404, message: "Caption not found: {id}/{language}" },
  downloadNotFound: { code: 10003, http: 404, message: "Download not found: {id}/{type}" },
  watermarkNotFound: { code: 10003, http: 404, message: "Watermark not found: {id}" },
  badParameter: { code: 10005, http: 400, message: "{reason}" },
});

const truncate = (value: unknown) => String(value).slice(0, 100);

const { table: _table, ...ERRORS } = bindingErrors;

/** Converts `err` to the error that the binding throws. Errors without a counterpart above are returned unchanged. */
export function toBindingError(err: unknown, [id, secondArg]: unknown[]): unknown {
  if (!(err instanceof UserError) || err.domain !== "stream" || !Object.hasOwn(ERRORS, err.kind)) return err;
  const details = {
    id: truncate(id),
    language: truncate(secondArg),
    type: secondArg == null ? "default" : truncate(secondArg),
    reason: err.details["reason"] ?? err.message,
  };
  return ERRORS[err.kind as keyof typeof ERRORS](details, { cause: err });
}

/** Throws badParameter with `reason` as its message. */
export function throwBadParameter(reason: string): never {
  throw bindingErrors.badParameter({ reason });
}

/** Throws downloadNotFound. */
export function throwDownloadNotFound(id: string, type: string): never {
  throw bindingErrors.downloadNotFound({ id: truncate(id), type });
}
