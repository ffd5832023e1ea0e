const bytes = (length: number, step: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => (i * step) & 255));

/** Test data, shared by the writing and the checking process. */
export const OBJECTS = {
  "a/b/whole": bytes(5000, 7),
  "a/b/replaced": bytes(6000, 11),
  "a/b/streamed": bytes(300_000, 13),
} as const;
export const PARTIAL = bytes(150_000, 17);
export const D1_ID = "power-cut";
