import { defineErrors, UserError } from "../../kernel/index.ts";

/** The texts of the hosted platform's local simulator, which programs and their tests compare. */
const bindingErrors = defineErrors("stream-binding", {
  videoNotFound: { code: 10003, http: 404, message: "Video not found: {id}" },
  captionNotFound: { code: 10003, http: 404, message: "Caption not found: {id}/{language}" },
  downloadNotFound: { code: 10003, http: 404, message: "Download not found: {id}/{type}" },
  watermarkNotFound: { code: 10003, http: 404, message: "Watermark not found: {id}" },
  badParameter: { code: 10005, http: 400, message: "{reason}" },
});

const shown = (value: unknown) => String(value).slice(0, 100);

const { table: _table, ...ERRORS } = bindingErrors;

/** The error that a call of the binding throws instead of `err`. Errors without a text of their own are unchanged. */
export function bindingError(err: unknown, [id, second]: unknown[]): unknown {
  if (!(err instanceof UserError) || err.domain !== "stream" || !Object.hasOwn(ERRORS, err.kind)) return err;
  const details = {
    id: shown(id),
    language: shown(second),
    type: second == null ? "default" : shown(second),
    reason: err.details["reason"] ?? err.message,
  };
  return ERRORS[err.kind as keyof typeof ERRORS](details, { cause: err });
}

/** Throws a bad request with the text `reason`. */
export function refuse(reason: string): never {
  throw bindingErrors.badParameter({ reason });
}

/** Throws for a download that does not exist. */
export function refuseDownload(id: string, type: string): never {
  throw bindingErrors.downloadNotFound({ id: shown(id), type });
}
