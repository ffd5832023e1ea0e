import type { Paint } from "../../kernel/paint.ts";
import { formatUtcTime, table } from "../print.ts";

export interface SimulcastOutput {
  uid: string;
  url: string;
  streamKey: string;
  enabled: boolean;
  status: { state: string; reason?: string; at: string } | null;
}

/** Returns a table of outputs without their keys, because others may see the screen. */
export const outputTable = (outputs: readonly SimulcastOutput[], paint: Paint): string[] =>
  table(
    ["uid", "to", "enabled", "status", "since", "reason"],
    outputs.map(({ uid, url, enabled, status }) => [
      uid,
      withoutCredentials(url),
      enabled ? "yes" : "no",
      status?.state,
      status === null ? "" : formatUtcTime(status.at),
      status?.reason,
    ]),
    paint,
  );

/** The query of an SRT URL may contain a passphrase. */
export const withoutCredentials = (url: string): string => url.replace(/\/\/[^/@]*@/, "//").replace(/\?.*$/, "?…");
