/** Long, because the server runs the worker once before it accepts an upload. */
export const UPLOAD_TIMEOUT_MS = 300_000;
