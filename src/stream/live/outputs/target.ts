import type { LiveOutput } from "../inputs/port.ts";
import { OutputError } from "./output-error.ts";

export interface RtmpTarget {
  kind: "rtmp";
  host: string;
  port: number;
  secure: boolean;
  /** Path between host and key. */
  app: string;
  /** URL without the key, as sent in `connect`. */
  tcUrl: string;
  key: string;
}

export interface SrtTarget {
  kind: "srt";
  host: string;
  port: number;
  streamId: string;
  passphrase: string;
  /** Milliseconds; undefined: SRT default (120). */
  latencyMs: number | undefined;
}

/** Parses the target of an output. Throws OutputError. */
export function readOutputTarget({ url, streamKey }: Pick<LiveOutput, "url" | "streamKey">): RtmpTarget | SrtTarget {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.hostname === "") throw new OutputError("its URL is invalid");
  const host = parsed.hostname.replace(/^\[(.*)\]$/, "$1");
  if (parsed.protocol === "srt:") return toSrtTarget(parsed, host, streamKey);
  if (parsed.protocol !== "rtmp:" && parsed.protocol !== "rtmps:")
    throw new OutputError("its URL does not start with rtmp:, rtmps: or srt:");
  const isSecure = parsed.protocol === "rtmps:";
  const path = `${parsed.pathname.replace(/^\/+|\/+$/g, "")}${parsed.search}`;
  // Without a separate key, the last path segment is the key.
  const appEnd = streamKey === "" ? path.lastIndexOf("/") : path.length;
  const app = path.slice(0, Math.max(0, appEnd));
  return {
    kind: "rtmp",
    host,
    secure: isSecure,
    app,
    port: parsed.port === "" ? (isSecure ? 443 : 1935) : Number(parsed.port),
    tcUrl: `${parsed.protocol}//${parsed.host}/${app}`,
    key: streamKey === "" ? path.slice(appEnd + 1) : streamKey,
  };
}

const MAX_STREAM_ID_LENGTH = 512;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f]/;

function toSrtTarget(parsed: URL, host: string, streamKey: string): SrtTarget {
  if (parsed.port === "") throw new OutputError("its URL has no port");
  const query = parsed.searchParams;
  const latency = Number(query.get("latency") ?? Number.NaN);
  const [streamId, passphrase] = [
    query.get("streamid") ?? "",
    streamKey === "" ? (query.get("passphrase") ?? "") : streamKey,
  ];
  // Percent-encoded control characters are decoded by now.
  if (CONTROLS.test(streamId) || CONTROLS.test(passphrase))
    throw new OutputError("its stream ID and passphrase must not contain control characters");
  if (Buffer.byteLength(streamId) > MAX_STREAM_ID_LENGTH)
    throw new OutputError(`its stream ID has more than ${MAX_STREAM_ID_LENGTH} bytes`);
  if (passphrase !== "" && (Buffer.byteLength(passphrase) < 10 || Buffer.byteLength(passphrase) > 79))
    throw new OutputError("its passphrase has fewer than 10 or more than 79 bytes");
  return {
    kind: "srt",
    host,
    port: Number(parsed.port),
    streamId,
    passphrase,
    latencyMs: Number.isFinite(latency) && latency >= 0 && latency <= 10_000 ? Math.round(latency) : undefined,
  };
}
