import { z } from "@hono/zod-openapi";
import type {
  LiveHealth,
  LiveInputChange,
  LiveInputs,
  PublicLiveStatus,
  LiveSample,
  LiveUrls,
  OwnedLiveInput,
  OwnedLiveOutputs,
  StreamUrls,
  VideoCatalog,
} from "../../../stream/index.ts";
import {
  streamErrors,
  listLiveInput,
  showLiveHistory,
  showLiveInput,
  showLiveOutput,
  showVideo,
} from "../../../stream/index.ts";
import { systemClock, type Clock } from "../../../kernel/index.ts";
import { noChosenIds, type ChosenIds } from "../../chosen-id.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { toBadParameter } from "./bad-parameter.ts";
import {
  liveHistorySchema,
  liveInputBody,
  newLiveInputBody,
  liveInputSchema,
  liveListSchema,
  liveMetricsSchema,
  liveStatusSchema,
} from "./live-schemas.ts";
import { liveWarnings } from "./live-warnings.ts";
import { flag, videoSchema } from "./video-schemas.ts";
import { wholeListQuery } from "./whole-list.ts";

interface StreamLiveInputsDeps {
  inputs: LiveInputs;
  outputs: Pick<OwnedLiveOutputs, "list">;
  videos: Pick<VideoCatalog, "list">;
  urls: StreamUrls;
  endpoints: LiveUrls["endpoints"];
  /** Resolves with the current broadcast, if there is one. */
  now(input: string): Promise<PublicLiveStatus | undefined>;
  viewers(input: string): Promise<number>;
  /** Health of the incoming stream; undefined without a publisher. */
  health(input: string): LiveHealth | undefined | Promise<LiveHealth | undefined>;
  /** Resolves with measurements of the last hour, oldest first. Default: none are kept. */
  samples?(input: string, since: number): Promise<LiveSample[]>;
  disconnect?(input: string): void;
  clock?: Pick<Clock, "now">;
  /** Default: ids and keys cannot be chosen. */
  chosenIds?: ChosenIds;
}

const tag = "Stream Live Inputs";
const LIVE_INPUTS_PATH = "/accounts/{account_id}/stream/live_inputs";
const LIVE_INPUT_PATH = `${LIVE_INPUTS_PATH}/{live_input_identifier}`;
const [READ, WRITE] = ["Stream Read", "Stream Write"] as const;

export function streamLiveInputsRoutes({
  inputs,
  outputs,
  videos,
  urls,
  endpoints,
  now,
  viewers,
  health,
  samples = async () => [],
  disconnect = () => {},
  clock = systemClock,
  chosenIds = noChosenIds,
}: StreamLiveInputsDeps): Route[] {
  const inputKeyOf = ({
    account_id,
    live_input_identifier,
  }: Record<string, string>): [account: string, uid: string] => [account_id!, live_input_identifier!];
  const show = (owned: OwnedLiveInput) => respond(showLiveInput(owned, { urls, endpoints }));
  const switchRoute = (word: string, enabled: boolean) =>
    route(
      {
        id: `stream-live-inputs-${word}-a-live-input`,
        method: "post",
        path: `${LIVE_INPUT_PATH}/${word}`,
        tag,
        summary: enabled ? "Enable a live input" : "Disable a live input and end its running broadcast",
        permission: WRITE,
        result: liveInputSchema,
      },
      async (call) => {
        // Clients send no body, `{}`, or their usual body.
        await call.bytes();
        return show(await inputs.update(...inputKeyOf(call.params), { enabled }));
      },
    );

  return [
    route(
      {
        id: "stream-live-inputs-list-live-inputs",
        method: "get",
        path: LIVE_INPUTS_PATH,
        tag,
        summary: "List live inputs, newest first, without their keys",
        permission: READ,
        translate: toBadParameter,
        query: wholeListQuery.extend({ include_counts: flag.optional() }),
        result: liveListSchema,
      },
      async ({ params, query }) => {
        const page = pageRequest(query);
        const { items, total } = await inputs.list(params.account_id!, page);
        const range = Math.max(0, total - (page.page - 1) * page.perPage);
        return respond({
          liveInputs: items.map(listLiveInput),
          ...(query.include_counts === true && { range, total }),
        });
      },
    ),
    route(
      {
        id: "stream-live-inputs-create-a-live-input",
        method: "post",
        path: LIVE_INPUTS_PATH,
        tag,
        summary: "Create a live input; requests with the same `Idempotency-Key` within six hours create only one",
        chosenId: "hex",
        permission: WRITE,
        translate: toBadParameter,
        body: newLiveInputBody,
        bodyOptional: true,
        result: liveInputSchema,
      },
      async (call) => {
        const { params, node } = call;
        const { keys, ...body } = call.body;
        if (keys != null) await chosenIds.requireOperator(call.caller);
        const uid = await chosenIds.of(call, "hex");
        const key = node.incoming.headers["idempotency-key"];
        return show(
          await inputs.create(params.account_id!, changeOf(body), {
            ...(typeof key === "string" && { idempotencyKey: key }),
            uid,
            keys: keys ?? undefined,
          }),
        );
      },
    ),
    route(
      {
        id: "stream-live-inputs-retrieve-a-live-input",
        method: "get",
        path: LIVE_INPUT_PATH,
        tag,
        summary: "Get a live input, with its keys",
        permission: READ,
        result: liveInputSchema,
      },
      async ({ params }) => show(await inputs.get(...inputKeyOf(params))),
    ),
    route(
      {
        id: "stream-live-inputs-update-a-live-input",
        method: "put",
        path: LIVE_INPUT_PATH,
        tag,
        summary: "Update a live input; omitted fields keep their values",
        permission: WRITE,
        translate: toBadParameter,
        body: liveInputBody,
        bodyOptional: true,
        result: liveInputSchema,
      },
      async ({ params, body }) => show(await inputs.update(...inputKeyOf(params), changeOf(body))),
    ),
    route(
      {
        id: "stream-live-inputs-delete-a-live-input",
        method: "delete",
        path: LIVE_INPUT_PATH,
        tag,
        summary: "Delete a live input; its recordings are kept",
        permission: WRITE,
        result: z.object({}),
      },
      async ({ params }) => {
        await inputs.delete(...inputKeyOf(params));
        return respond({});
      },
    ),
    switchRoute("enable", true),
    switchRoute("disable", false),
    route(
      {
        id: "stream-live-inputs-rotate-keys-for-a-live-input",
        method: "post",
        path: `${LIVE_INPUT_PATH}/rotate_keys`,
        tag,
        summary: "Rotate the keys of a live input; the old keys stop working",
        permission: WRITE,
        result: liveInputSchema,
      },
      async (call) => {
        await call.bytes();
        return show(await inputs.rotateKeys(...inputKeyOf(call.params)));
      },
    ),
    route(
      {
        id: "stream-live-inputs-list-videos",
        method: "get",
        path: `${LIVE_INPUT_PATH}/videos`,
        tag,
        summary: "List the recordings of a live input, including the running one, newest first",
        permission: READ,
        translate: toBadParameter,
        query: wholeListQuery,
        result: z.array(videoSchema),
      },
      async ({ params, query }) => {
        const [account, uid] = inputKeyOf(params);
        await inputs.get(account, uid);
        const { page, perPage } = pageRequest(query);
        return respond(
          (await videos.list(account, { liveInput: uid, limit: perPage, offset: (page - 1) * perPage })).map((video) =>
            showVideo(video, urls),
          ),
        );
      },
    ),
    route(
      {
        id: "stream-live-inputs-status",
        method: "get",
        path: `${LIVE_INPUT_PATH}/status`,
        tag,
        summary: "Get the current status of a live input: state, ingest health, viewers and outputs",
        permission: READ,
        result: liveStatusSchema,
      },
      async ({ params }) => {
        const [account, uid] = inputKeyOf(params);
        const { status, statusAt } = await inputs.get(account, uid);
        const [broadcast, viewerCount, healthNow, outputStates] = await Promise.all([
          now(uid),
          viewers(uid),
          health(uid),
          outputs.list(uid),
        ]);
        return respond({
          state: status,
          since: statusAt === null ? null : new Date(statusAt).toISOString(),
          live: broadcast?.live ?? false,
          videoUID: broadcast?.video ?? null,
          viewers: viewerCount,
          health: healthNow ?? null,
          outputs: outputStates.map(showLiveOutput).map(({ url: _url, streamKey: _key, ...output }) => output),
        });
      },
    ),
    route(
      {
        id: "stream-live-inputs-metrics",
        method: "get",
        path: `${LIVE_INPUT_PATH}/metrics`,
        tag,
        summary: "Get measurements of a broadcast, every five seconds for up to an hour, and warnings about it",
        permission: READ,
        translate: toBadParameter,
        query: z.object({ minutes: z.coerce.number().int().min(1).max(60).default(10) }),
        result: liveMetricsSchema,
      },
      async ({ params, query: { minutes } }) => {
        const { input } = await inputs.get(...inputKeyOf(params));
        const [measured, current] = await Promise.all([
          samples(input.uid, clock.now() - minutes * 60_000),
          health(input.uid),
        ]);
        return respond({
          samples: measured.map(({ at, ...sample }) => ({ at: new Date(at).toISOString(), ...sample })),
          warnings: current === undefined ? [] : liveWarnings(current),
        });
      },
    ),
    route(
      {
        id: "stream-live-inputs-disconnect",
        method: "post",
        path: `${LIVE_INPUT_PATH}/disconnect`,
        tag,
        summary: "Disconnect the publisher of a live input; it may connect again",
        permission: WRITE,
        result: z.object({}),
      },
      async (call) => {
        await call.bytes();
        const { input } = await inputs.get(...inputKeyOf(call.params));
        if ((await health(input.uid)) === undefined) throw streamErrors.liveNoPublisher();
        disconnect(input.uid);
        return respond({});
      },
    ),
    route(
      {
        id: "stream-live-inputs-history",
        method: "get",
        path: `${LIVE_INPUT_PATH}/history`,
        tag,
        summary: "List the events of a live input, newest first",
        permission: READ,
        translate: toBadParameter,
        query: z.object(pageQuery({ perPage: 50, max: 500 })),
        result: liveHistorySchema,
      },
      async ({ params, query }) => {
        const page = pageRequest(query);
        return respondWithPage(await inputs.history(...inputKeyOf(params), page), page, showLiveHistory);
      },
    ),
  ];
}

/** Removes omitted fields, and null where it has no meaning. */
function changeOf({
  recording,
  deleteRecordingAfterDays,
  defaultCreator,
  ...given
}: z.output<typeof liveInputBody>): LiveInputChange {
  const pickDefined = <Given extends object>(fields: Given) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
  return {
    ...pickDefined(given),
    ...(deleteRecordingAfterDays !== undefined && { deleteRecordingAfterDays }),
    ...(defaultCreator !== undefined && { defaultCreator }),
    ...(recording != null && { recording: pickDefined(recording) }),
  };
}
