import { formatSize } from "../../kernel/text.ts";
import { connectToApi } from "../api/connect.ts";
import { type Command, defineCommand } from "../command.ts";
import { printResult, formatUtcTime, nameValueLines } from "../print.ts";
import { saveBody } from "../save.ts";
import { serverOptions } from "../shared-options.ts";
import { parseAccessRule, ruleOption } from "../stream/access-rules.ts";
import { withToken, fetchPlaybackContent, playableUrl } from "../stream/delivered.ts";
import { FILES, readyDownload } from "../stream/downloads.ts";
import { videoPath, type ApiVideo, videoArgument } from "../stream/video.ts";
import { waitUntilPlayable } from "../stream/waiting.ts";
import { parseTimeOption } from "../time-option.ts";

const streamToken = defineCommand({
  name: "stream token",
  summary: "sign a token that replaces the uid of a video",
  description:
    "The token grants playback until it expires. An unprotected video (without --signed) also plays with its uid.",
  arguments: [videoArgument],
  options: {
    expires: { type: "string", placeholder: "time", summary: "expiration: 2h, 1d or a time", defaultText: "1h" },
    "not-before": {
      type: "string",
      placeholder: "time",
      summary: "start of validity: 2h, 1d or a time",
      defaultText: "now",
    },
    downloadable: { type: "boolean", summary: "allow downloading MP4 and M4A" },
    original: { type: "boolean", summary: "allow downloading the uploaded file" },
    ...ruleOption,
    ...serverOptions,
  },
  examples: [
    ["reelpost stream token 91ab… --expires 12h", "URLs that are valid for half a day"],
    ["reelpost stream token 91ab… --rule allow:country:DE,AT --rule block:any", "playable in two countries only"],
  ],
  async run({ expires = "1h", "not-before": notBefore, downloadable, original, rule, ...values }, [uid], context) {
    const now = context.clock.now();
    const seconds = (option: string, text: string) =>
      Math.floor(Date.parse(parseTimeOption(option, text, now, "future")) / 1000);
    const exp = seconds("--expires", expires);
    const claims = {
      exp,
      ...(notBefore !== undefined && { nbf: seconds("--not-before", notBefore) }),
      ...(downloadable === true && { downloadable }),
      ...(original === true && { flags: { original } }),
      ...(rule.length > 0 && { accessRules: rule.map(parseAccessRule) }),
    };
    const connection = await connectToApi(values, context);
    const path = videoPath(connection, uid!);
    const video = await connection.api.result<ApiVideo>("GET", path);
    const { token } = await connection.api.result<{ token: string }>("POST", `${path}/token`, { json: claims });
    const to = (address: string) => withToken(address, video.uid, token);
    const signed = {
      token,
      expires: new Date(exp * 1000).toISOString(),
      watch: to(video.preview),
      hls: to(video.playback.hls),
      dash: to(video.playback.dash),
    };
    printResult(context, signed, (paint) =>
      nameValueLines(
        [
          ["token", token],
          ["watch", signed.watch],
          ["hls", signed.hls],
          ["dash", signed.dash],
          ["expires", formatUtcTime(signed.expires)],
        ],
        paint,
      ),
    );
    return 0;
  },
});

const streamDownload = defineCommand({
  name: "stream download",
  summary: "download a video as MP4",
  description:
    "Creates the download first if necessary, once the video is playable; the server keeps it for other users. For a protected video it signs a token.",
  arguments: [videoArgument],
  options: {
    audio: { type: "boolean", summary: "audio only, as M4A" },
    file: {
      type: "string",
      short: "f",
      placeholder: "file",
      summary: "output file",
      defaultText: "<uid>.mp4 or <uid>.m4a",
      complete: "file",
    },
    pipe: { type: "boolean", summary: "write to standard output" },
    ...serverOptions,
  },
  examples: [
    ["reelpost stream download 91ab… --file talk.mp4", "into a file"],
    ["reelpost stream download 91ab… --audio", "audio only"],
  ],
  async run({ audio, file, pipe, ...values }, [uid], context) {
    const connection = await connectToApi(values, context);
    const { progress } = connection;
    const video = await waitUntilPlayable(connection, uid!);
    const type = audio === true ? "audio" : "default";
    const url = await readyDownload(connection, video.uid, type);
    const response = await fetchPlaybackContent(await playableUrl(connection, video, url, { downloadable: true }));
    const target = pipe === true ? undefined : (file ?? `${video.uid}.${FILES[type].extension}`);
    const size = await saveBody(
      response,
      target,
      context,
      progress.meter(`downloading ${video.uid}`, Number(response.headers.get("content-length") ?? 0)),
    );
    progress.clear();
    if (target !== undefined)
      printResult(context, { uid: video.uid, type, url, file: target, size }, () => [
        `Wrote ${target} (${formatSize(size)})`,
      ]);
    return 0;
  },
});

interface Delivery {
  customerCode: string;
  deliveryDomain: string | null;
  baseUrl: string;
}

const streamDelivery = defineCommand({
  name: "stream delivery",
  summary: "show the customer code and the base URL of the account's videos",
  description:
    "The URLs of a video are the base URL followed by `/<uid>/watch`, `/<uid>/manifest/video.m3u8` and so on.",
  options: serverOptions,
  examples: [["reelpost stream delivery --json", "prints the customer code, delivery domain and base URL as JSON"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const delivery = await api.result<Delivery>("GET", `${base}/stream/delivery`);
    printResult(context, delivery, (paint) =>
      nameValueLines(
        [
          ["customer code", delivery.customerCode],
          ["domain", delivery.deliveryDomain ?? "none: stream.delivery_domain is not set on the server"],
          ["base URL", delivery.baseUrl],
        ],
        paint,
      ),
    );
    return 0;
  },
});

export const streamDeliveryCommands: readonly Command[] = [streamToken, streamDownload, streamDelivery];
