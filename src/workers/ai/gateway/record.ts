import { aiGatewayLimits } from "./limits.ts";

/** The beginning of a response, its size, and its token counts, collected while it passes through. */
export interface ResponseRecord {
  add(chunk: Uint8Array): void;
  readonly size: number;
  /** Returns the whole response; undefined if it is longer than `cachedBytes`. */
  whole(): Uint8Array | undefined;
  head(): Head;
  tokens(): { in: number | null; out: number | null };
  /** True if a stream of completions has ended. */
  hasLastEvent(): boolean;
}

interface Head {
  text: string;
  isComplete: boolean;
}

/** The usage is at the end of a stream, and in a short response. */
const TAIL_BYTES = 16 * 1024;

export function createResponseRecord(): ResponseRecord {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let tail = Buffer.alloc(0);
  const collected = () => Buffer.concat(chunks);
  return {
    add(chunk) {
      // The head remains even if the response is too large for the cache.
      if (size <= aiGatewayLimits.cachedBytes) chunks.push(chunk);
      size += chunk.length;
      tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES);
    },
    get size() {
      return size;
    },
    whole: () => (size <= aiGatewayLimits.cachedBytes ? collected() : undefined),
    head: () => headOf(collected(), size),
    hasLastEvent: () => /^data: ?\[DONE\]\s*$/m.test(tail.toString("utf8")),
    tokens() {
      const text = tail.toString("utf8");
      return { in: lastNumber(text, "(?:prompt|input)_tokens"), out: lastNumber(text, "(?:completion|output)_tokens") };
    },
  };
}

export function headOf(bytes: Uint8Array, size = bytes.length): Head {
  // A character has at most 4 bytes.
  const text = Buffer.from(bytes.subarray(0, aiGatewayLimits.headChars * 4)).toString("utf8");
  const head = text.slice(0, aiGatewayLimits.headChars);
  return { text: head, isComplete: head.length === text.length && size <= aiGatewayLimits.headChars * 4 };
}

/**
 * Returns the last value of a field such as `"prompt_tokens": 12`. Parsing would fail on the tail of a long response.
 */
function lastNumber(text: string, field: string): number | null {
  const value = [...text.matchAll(new RegExp(`"${field}"\\s*:\\s*(\\d{1,12})`, "g"))].at(-1)?.[1];
  return value === undefined ? null : Number(value);
}
