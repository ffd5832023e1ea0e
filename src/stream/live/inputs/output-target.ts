import { isIP } from "node:net";
import { isLoopbackAddress, isNonPublicAddress } from "../../../kernel/networks.ts";
import { streamErrors } from "../../errors.ts";

export interface OutputTarget {
  url: string;
  streamKey: string;
}

const SCHEMES = ["rtmp:", "rtmps:", "srt:"];
const MAX_URL_LENGTH = 2048;
// The values become tokens in line-based and binary protocols.
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f]/;

/**
 * Validates the target of an output. Names are resolved and checked when sending; literal private addresses are
 * rejected here. Throws badParameter, whose message omits the URL and the stream key because they may contain secrets.
 */
export function checkTarget({ url, streamKey }: OutputTarget, allowPrivate: boolean): OutputTarget {
  const trimmedUrl = url.trim();
  const badTarget = (reason: string) => streamErrors.badParameter({ reason });
  if (trimmedUrl.length > MAX_URL_LENGTH || streamKey.length > MAX_URL_LENGTH)
    throw badTarget(`url and streamKey can have at most ${MAX_URL_LENGTH} characters each`);
  if (CONTROLS.test(trimmedUrl) || CONTROLS.test(streamKey))
    throw badTarget("url and streamKey must not contain control characters");
  const parsed = URL.parse(trimmedUrl);
  if (parsed === null || !SCHEMES.includes(parsed.protocol) || parsed.hostname === "")
    throw badTarget(
      "url must be the URL of an RTMP or SRT server, such as rtmps://live.example.com:443/app or srt://live.example.com:8890",
    );
  if (parsed.protocol === "srt:") {
    if (parsed.port === "") throw badTarget("an SRT url must have a port, such as srt://live.example.com:8890");
    if (streamKey !== "" && (streamKey.length < 10 || streamKey.length > 79))
      throw badTarget(
        "the streamKey of an SRT output is its passphrase: it must have 10 to 79 characters, or be empty",
      );
  } else if (streamKey === "") throw badTarget("streamKey is required");
  // For non-web schemes, URL keeps the host as written: 0x7f.1 still connects to a private address.
  const host = URL.parse(`http://${parsed.hostname}`)?.hostname.replace(/^\[(.*)\]$/, "$1");
  if (host === undefined) throw badTarget("url has no valid host");
  const isPrivateHost =
    isIP(host) === 0 ? /^(.+\.)?localhost\.?$/i.test(host) : isLoopbackAddress(host) || isNonPublicAddress(host);
  if (isPrivateHost && !allowPrivate)
    throw badTarget(`${host} is not a public host; outputs to private addresses are not allowed`);
  return { url: trimmedUrl, streamKey };
}
