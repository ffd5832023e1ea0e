import { queryOptions } from "@tanstack/react-query";
import { api, type ResultOf } from "../../api/client.ts";
import type { Tone } from "../../shared/status-badge.tsx";

export type LiveInput = ResultOf<"GET", "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}">;
export type ListedInput = ResultOf<"GET", "/accounts/{account_id}/stream/live_inputs">["liveInputs"][number];
type LiveStatus = ResultOf<"GET", "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/status">;
export type LiveMetrics = ResultOf<"GET", "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/metrics">;
export type Output = ResultOf<
  "GET",
  "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/outputs"
>[number];
export type HistoryEntry = ResultOf<
  "GET",
  "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/history"
>[number];
export type Recording = ResultOf<
  "GET",
  "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/videos"
>[number];

/** Query keys. Invalidating a prefix invalidates every key under it. */
export const liveKeys = {
  inputs: (account: string) => ["live", account, "inputs"] as const,
  input: (account: string, uid: string) => ["live", account, "input", uid] as const,
  status: (account: string, uid: string) => ["live", account, "input", uid, "status"] as const,
  metrics: (account: string, uid: string) => ["live", account, "input", uid, "metrics"] as const,
};

export const inputPath = (account: string, uid: string) => ({ account_id: account, live_input_identifier: uid });

export const inputQuery = (account: string, uid: string) =>
  queryOptions({
    queryKey: [...liveKeys.input(account, uid), "details"],
    queryFn: () =>
      api.get("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}", { path: inputPath(account, uid) }),
  });

/** Viewers come and go without an event, so the status of a broadcast is read again every five seconds. */
export const statusQuery = (account: string, uid: string) =>
  queryOptions({
    queryKey: liveKeys.status(account, uid),
    queryFn: () =>
      api.get("/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/status", {
        path: inputPath(account, uid),
      }),
    refetchInterval: ({ state: { data } }) => (data?.live === true ? 5000 : false),
  });

export const nameOf = ({ meta, uid }: Pick<ListedInput, "meta" | "uid">): string =>
  typeof meta["name"] === "string" && meta["name"] !== "" ? meta["name"] : uid;

export const hrefOf = ({ uid }: Pick<ListedInput, "uid">) => `/live/${uid}`;

/** Returns the URL of the player. */
export const playerOf = ({ uid, playback }: LiveInput): string =>
  `${playback.hls.slice(0, playback.hls.lastIndexOf(`/${uid}/`))}/${uid}/iframe`;

export const LIVE_STATES: Record<NonNullable<LiveStatus["state"]>, { tone: Tone; text: string }> = {
  connected: { tone: "good", text: "Live" },
  reconnected: { tone: "good", text: "Live" },
  reconnecting: { tone: "warning", text: "Reconnecting" },
  client_disconnect: { tone: "neutral", text: "Offline" },
  ttl_exceeded: { tone: "neutral", text: "Ended by the time limit" },
  failed_to_connect: { tone: "bad", text: "Connection failed" },
  failed_to_reconnect: { tone: "bad", text: "Reconnection failed" },
  new_configuration_accepted: { tone: "good", text: "Live" },
};

/** True while an encoder is connected; a broadcast remains live for a moment after its encoder disconnects. */
export const isPublishing = ({ live, state }: LiveStatus): boolean =>
  live && state !== null && LIVE_STATES[state].tone === "good";
