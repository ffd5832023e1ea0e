/** A failed request to the API. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status; 0 if the server did not respond. */
  readonly status: number;
  readonly code: number;
  /** The instruction of the error table, if it has one. */
  readonly fix: string | undefined;
  /** Messages by field of the request body, for example `data.port`. */
  readonly fields: Readonly<Record<string, string>>;
  readonly requestId: string | undefined;

  constructor(
    message: string,
    more: { status: number; code?: number; fix?: string; fields?: Record<string, string>; requestId?: string },
  ) {
    super(message);
    this.status = more.status;
    this.code = more.code ?? 0;
    this.fix = more.fix;
    this.fields = more.fields ?? {};
    this.requestId = more.requestId;
  }
}

interface ErrorItem {
  code: number;
  message: string;
  source?: { pointer: string };
  error_chain?: ErrorItem[];
}

/** The named code of an error, for example `E_STORE_DISK_FULL`: an item of the chain that is not an instruction. */
const NAMED_CODE = /^[A-Za-z0-9]+(_[A-Za-z0-9]+)+$/;

/** Reads the error table's text and fix from a failure envelope; any other body becomes a general message. */
export function errorOfResponse(status: number, body: unknown, requestId?: string): ApiError {
  const [first] = (body as { errors?: ErrorItem[] } | undefined)?.errors ?? [];
  const more = { status, ...(requestId !== undefined && { requestId }) };
  if (first === undefined) return new ApiError(`The server answered with status ${status}.`, more);
  const chain = first.error_chain ?? [];
  const fields = Object.fromEntries(
    chain.flatMap(({ source, message }) =>
      source === undefined ? [] : [[source.pointer.slice(1).replaceAll("/", "."), message]],
    ),
  );
  const fix = chain.findLast(({ source, message }) => source === undefined && !NAMED_CODE.test(message))?.message;
  return new ApiError(first.message, { ...more, code: first.code, fields, ...(fix !== undefined && { fix }) });
}

/** Converts any thrown value to an error that can be shown. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  // The message of a failed fetch differs between browsers.
  if (thrown instanceof TypeError)
    return new ApiError("The server cannot be reached.", {
      status: 0,
      fix: "Check that it is running, and try again.",
    });
  return new ApiError(thrown instanceof Error ? thrown.message : String(thrown), { status: 0 });
}
