// Implements `analytics_engine` bindings. Runs in the worker's isolate as an internal module and calls the server over
// plain HTTP. Limits and error messages are those of the hosted binding.
import workers from "cloudflare-internal:workers";

const MAX_MEMBERS = 20;
const MAX_BLOB_BYTES = 16_384;
const INDEX_BYTES = 96;
/**
 * Maximum number of points that are being written. Further points are dropped, because the code does not wait for
 * writes.
 */
const MAX_PENDING_POINTS = 1000;

const PREFIX = "writeDataPoint(): ";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

class AnalyticsEngineDataset {
  #server: Fetcher;
  #pending = 0;

  constructor(server: Fetcher) {
    this.#server = server;
  }

  writeDataPoint(point?: unknown): void {
    const body = JSON.stringify(checkPoint(point));
    if (this.#pending >= MAX_PENDING_POINTS) {
      console.warn(`${PREFIX}dropped: ${MAX_PENDING_POINTS} data points are already being written`);
      return;
    }
    this.#pending++;
    // The worker's code does not wait for the write, which must outlast the worker's response.
    workers.waitUntil(this.#write(body));
  }

  async #write(body: string): Promise<void> {
    try {
      const response = await this.#server.fetch("http://analytics/", { method: "POST", body });
      if (!response.ok) console.warn(PREFIX + ((await response.json()) as { error: string }).error);
    } finally {
      this.#pending--;
    }
  }
}

function checkPoint(point: unknown) {
  if (point !== undefined && (typeof point !== "object" || point === null))
    throw new TypeError(`${PREFIX}the data point is not an object`);
  const { indexes, blobs, doubles } = (point ?? {}) as Record<string, unknown>;
  const [index = ""] = readStrings(indexes, "indexes", 1);
  if (encoder.encode(index).length > INDEX_BYTES)
    throw new TypeError(`${PREFIX}Size of indexes[0] exceeds ${INDEX_BYTES} bytes.`);
  const strings = readStrings(blobs, "blobs", MAX_MEMBERS);
  if (strings.reduce((sum, text) => sum + encoder.encode(text).length, 0) > MAX_BLOB_BYTES)
    throw new TypeError(`${PREFIX}Cumulative size of blobs exceeds ${MAX_BLOB_BYTES} bytes).`);
  const numbers = list(doubles, "doubles", MAX_MEMBERS).map(Number);
  // JSON cannot represent NaN and infinity.
  return { index, blobs: strings, doubles: numbers.map((value) => (Number.isFinite(value) ? value : 0)) };
}

const readStrings = (value: unknown, name: string, maxLength: number): string[] =>
  list(value, name, maxLength).map((item) => {
    if (typeof item === "string") return item;
    if (item === null || item === undefined) return "";
    if (item instanceof ArrayBuffer || ArrayBuffer.isView(item)) return decoder.decode(item);
    throw new TypeError(`${PREFIX}${name} must contain strings, ArrayBuffers or null.`);
  });

function list(value: unknown, name: string, maxLength: number): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new TypeError(`${PREFIX}${name} is not an array.`);
  if (value.length > maxLength) throw new TypeError(`${PREFIX}Maximum of ${maxLength} ${name} supported.`);
  return value;
}

export default (env: { server: Fetcher }) => new AnalyticsEngineDataset(env.server);
