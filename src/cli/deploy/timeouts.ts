/** The server runs the worker once before it accepts the upload. */
export const UPLOAD_TIMEOUT_MS = 300_000;
