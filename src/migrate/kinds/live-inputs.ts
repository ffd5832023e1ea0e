import { plannedItem, type Context } from "../context.ts";
import type { ItemProgress, PlannedItem, V4Client } from "../port.ts";
import { apiPath, resultIfFound } from "../requests.ts";
import { idHeader } from "./zone.ts";

interface LiveInput {
  uid: string;
  meta?: Record<string, unknown> | null;
  enabled?: boolean;
  preferLowLatency?: boolean;
  defaultCreator?: string | null;
  deleteRecordingAfterDays?: number | null;
  recording?: Record<string, unknown> | null;
  rtmps?: { streamKey: string };
  rtmp?: { streamKey: string };
  rtmpsPlayback?: { streamKey: string };
  rtmpPlayback?: { streamKey: string };
  srt?: { passphrase: string };
  srtPlayback?: { passphrase: string };
  webRTC?: { url: string };
}

interface Output {
  uid: string;
  url: string;
  streamKey: string;
  enabled?: boolean;
}

const RECORDING = ["mode", "timeoutSeconds", "requireSignedURLs", "allowedOrigins", "hideLiveViewerCount"] as const;
const KEY = /^[0-9a-f]{32}k[0-9a-f]{32}$/;

/** Plans the import of live inputs with their keys and outputs. */
export async function planLiveInputs(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, ids } = context;
  const { liveInputs } = await source.api.result<{ liveInputs: { uid: string }[] }>(
    "GET",
    `${paths.source}/stream/live_inputs`,
  );
  const items: PlannedItem[] = [];
  for (const { uid } of liveInputs) {
    const from = `${paths.source}/stream/live_inputs${apiPath`/${uid}`}`;
    const to = `${paths.target}/stream/live_inputs${apiPath`/${ids.find("live", uid) ?? uid}`}`;
    const [input, outputs, existing] = await Promise.all([
      source.api.result<LiveInput>("GET", from),
      source.api.result<Output[]>("GET", `${from}/outputs`),
      resultIfFound<LiveInput>(target.api, to),
    ]);
    if (existing !== undefined) ids.set("live", uid, existing.uid);
    const existingOutputs = existing === undefined ? [] : await target.api.result<Output[]>("GET", `${to}/outputs`);
    items.push(planLiveInput(context, { input, outputs, existing, existingOutputs }));
  }
  return items;
}

function planLiveInput(
  context: Context,
  {
    input,
    outputs,
    existing,
    existingOutputs,
  }: { input: LiveInput; outputs: Output[]; existing: LiveInput | undefined; existingOutputs: Output[] },
): PlannedItem {
  const { uid } = input;
  const { keys, losses } = keysOf(input);
  if (!context.keepsIds && existing === undefined) losses.push("its id and its keys change");
  const settings = settingsOf(input);
  return plannedItem(context, {
    kind: "live input",
    key: `live ${uid}`,
    name: String(input.meta?.["name"] ?? uid),
    ...(losses.length > 0 && { losses }),
    source: { ...settings, outputs: outputs.map(outputForm).sort() },
    target: existing && { ...settingsOf(existing), outputs: existingOutputs.map(outputForm).sort() },
    async apply(progress) {
      const { api } = context.target;
      const path = `${context.paths.target}/stream/live_inputs`;
      if (existing === undefined) {
        const made = await api.result<LiveInput>("POST", path, {
          json: { ...settings, ...(context.keepsIds && keys !== undefined && { keys }) },
          headers: idHeader(context, uid),
        });
        context.ids.set("live", uid, made.uid);
      } else await api.result("PUT", path + apiPath`/${existing.uid}`, { json: settings });
      await writeOutputs(
        api,
        `${path}${apiPath`/${context.ids.require("live", uid, `The live input ${uid}`)}`}/outputs`,
        { outputs, existingOutputs },
        progress,
      );
    },
  });
}

async function writeOutputs(
  api: V4Client,
  path: string,
  { outputs, existingOutputs }: { outputs: Output[]; existingOutputs: Output[] },
  progress: ItemProgress,
): Promise<void> {
  const keyOf = ({ url, streamKey }: Output) => `${url} ${streamKey}`;
  for (const output of outputs) {
    const found = existingOutputs.find((other) => keyOf(other) === keyOf(output));
    const enabled = output.enabled !== false;
    if (found === undefined)
      await api
        .result("POST", path, { json: { url: output.url, streamKey: output.streamKey, enabled } })
        .catch((thrown: unknown) =>
          progress.warn(`its output to ${hostOf(output.url)} was refused: ${String((thrown as Error).message)}`),
        );
    else if ((found.enabled !== false) !== enabled)
      await api.result("PUT", path + apiPath`/${found.uid}`, { json: { enabled } });
  }
}

/** Returns the host of a URL, without the stream key that the path may contain. */
const hostOf = (url: string) => URL.parse(url)?.host ?? "an invalid URL";

const outputForm = ({ url, streamKey, enabled = true }: Output) => JSON.stringify([url, streamKey, enabled]);

const settingsOf = ({
  meta,
  enabled = true,
  preferLowLatency = false,
  defaultCreator = null,
  deleteRecordingAfterDays = null,
  recording,
}: LiveInput) => ({
  meta: meta ?? {},
  enabled,
  preferLowLatency,
  defaultCreator,
  deleteRecordingAfterDays,
  recording: Object.fromEntries(
    RECORDING.flatMap((field) => (recording?.[field] == null ? [] : [[field, recording[field]]])),
  ),
});

/**
 * Returns the publishing and playback keys, if the source shows them in the form that this server uses for all
 * protocols.
 */
function keysOf(input: LiveInput): { keys: { publish: string; playback: string } | undefined; losses: string[] } {
  const whip = input.webRTC && /\/([0-9a-f]{32}k[0-9a-f]{32})\/webRTC\/publish$/.exec(input.webRTC.url)?.[1];
  const publish = input.rtmps?.streamKey ?? input.rtmp?.streamKey ?? input.srt?.passphrase ?? whip;
  const playback = input.rtmpsPlayback?.streamKey ?? input.rtmpPlayback?.streamKey ?? input.srtPlayback?.passphrase;
  if (publish === undefined || playback === undefined || !KEY.test(publish) || !KEY.test(playback))
    return {
      keys: undefined,
      losses: ["its keys change: the source does not return them in the format of this server"],
    };
  return {
    keys: { publish, playback },
    losses: [
      ...(input.srt !== undefined && input.srt.passphrase !== publish
        ? ["its SRT passphrase changes to the stream key"]
        : []),
      ...(whip !== undefined && whip !== publish ? ["the key in its WHIP URL changes to the stream key"] : []),
    ],
  };
}
