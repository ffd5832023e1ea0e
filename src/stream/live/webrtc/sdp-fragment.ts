/** Content of a client's PATCH (RFC 8840, 9; RFC 9725, 4.3): trickled candidates, or an ICE restart. */
interface SdpFragment {
  /** ICE credentials, if present: the current ones, or new ones for a restart. */
  ufrag?: string;
  pwd?: string;
  candidates: { candidate: string; mid: string }[];
}

const MAX_LINES = 500;
const MAX_LINE_LENGTH = 1000;

/** Undefined if invalid. */
export function readSdpFragment(text: string): SdpFragment | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  if (
    lines.length === 0 ||
    lines.length > MAX_LINES ||
    lines.some((line) => !/^[a-z]=/.test(line) || line.length > MAX_LINE_LENGTH)
  )
    return undefined;
  const fragment: SdpFragment = { candidates: [] };
  // All media are bundled (BUNDLE): candidates without a medium belong to the first one.
  let mid = "0";
  for (const line of lines) {
    const [, name, value = ""] = /^a=([\w-]+)(?::(.*))?$/.exec(line) ?? [];
    if (name === "mid") mid = value.trim();
    else if (name === "ice-ufrag") fragment.ufrag ??= value.trim();
    else if (name === "ice-pwd") fragment.pwd ??= value.trim();
    else if (name === "candidate") fragment.candidates.push({ candidate: `candidate:${value.trim()}`, mid });
  }
  return fragment;
}

/** Returns the response to an ICE restart: local values from a complete answer. */
export function fragmentOfAnswer(sdp: string): string {
  const lines = sdp.split(/\r?\n/);
  const first = lines.findIndex((line) => line.startsWith("m="));
  const next = lines.findIndex((line, i) => i > first && line.startsWith("m="));
  const media = lines.slice(first, next === -1 ? undefined : next);
  const pick = (...names: string[]) =>
    names.flatMap((name) => [...lines.slice(0, first), ...media].filter((line) => line.startsWith(`a=${name}`)));
  return `${[...pick("ice-lite", "ice-options").slice(0, 1), ...pick("ice-ufrag:").slice(0, 1), ...pick("ice-pwd:").slice(0, 1), media[0]!, ...pick("mid:").slice(0, 1), ...pick("candidate:"), "a=end-of-candidates"].join("\r\n")}\r\n`;
}

/** Returns the offer with new ICE credentials, as the client would have sent it for an ICE restart. */
export function offerAfterRestart(offer: string, { ufrag, pwd, candidates }: Required<SdpFragment>): string {
  const lines = offer.split(/\r?\n/).filter((line) => line !== "" && !/^a=(candidate:|end-of-candidates)/.test(line));
  const outputLines: string[] = [];
  for (const line of lines) {
    if (line.startsWith("a=ice-ufrag:")) outputLines.push(`a=ice-ufrag:${ufrag}`);
    else if (line.startsWith("a=ice-pwd:")) outputLines.push(`a=ice-pwd:${pwd}`);
    else outputLines.push(line);
    if (line.startsWith("a=mid:"))
      outputLines.push(
        ...candidates.filter(({ mid }) => line === `a=mid:${mid}`).map(({ candidate }) => `a=${candidate}`),
      );
  }
  return `${outputLines.join("\r\n")}\r\n`;
}
