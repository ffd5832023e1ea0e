import { z } from "@hono/zod-openapi";
import { showLiveOutput, type OwnedLiveOutputs } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { toBadParameter } from "./bad-parameter.ts";
import { liveOutputBody, liveOutputSchema } from "./live-schemas.ts";

interface StreamLiveOutputsDeps {
  outputs: Pick<OwnedLiveOutputs, "of" | "create" | "setEnabled" | "delete">;
}

const tag = "Stream Live Inputs";
const OUTPUTS_PATH = "/accounts/{account_id}/stream/live_inputs/{live_input_identifier}/outputs";
const OUTPUT_PATH = `${OUTPUTS_PATH}/{output_identifier}`;
const [READ, WRITE] = ["Stream Read", "Stream Write"] as const;

export function streamLiveOutputsRoutes({ outputs }: StreamLiveOutputsDeps): Route[] {
  const input = ({ account_id, live_input_identifier }: Record<string, string>): [account: string, input: string] => [
    account_id!,
    live_input_identifier!,
  ];

  return [
    route(
      {
        id: "stream-live-inputs-list-all-outputs-associated-with-a-specified-live-input",
        method: "get",
        path: OUTPUTS_PATH,
        tag,
        summary: "List the outputs of a live input with their status",
        permission: READ,
        result: z.array(liveOutputSchema),
      },
      async ({ params }) => respond((await outputs.of(...input(params))).map(showLiveOutput)),
    ),
    route(
      {
        id: "stream-live-inputs-create-a-new-output,-connected-to-a-live-input",
        method: "post",
        path: OUTPUTS_PATH,
        tag,
        summary: "Create an output: restream a live input to an RTMP(S) or SRT server",
        permission: WRITE,
        translate: toBadParameter,
        body: liveOutputBody,
        result: liveOutputSchema,
      },
      async ({ params, body }) => respond(showLiveOutput(await outputs.create(...input(params), body))),
    ),
    route(
      {
        id: "stream-live-inputs-update-an-output",
        method: "put",
        path: OUTPUT_PATH,
        tag,
        summary: "Enable or disable an output",
        permission: WRITE,
        translate: toBadParameter,
        body: z.object({ enabled: z.boolean() }),
        result: liveOutputSchema,
      },
      async ({ params, body }) =>
        respond(showLiveOutput(await outputs.setEnabled(...input(params), params.output_identifier!, body.enabled))),
    ),
    route(
      {
        id: "stream-live-inputs-delete-an-output",
        method: "delete",
        path: OUTPUT_PATH,
        tag,
        summary: "Delete an output; restreaming to it stops",
        permission: WRITE,
        result: z.object({}),
      },
      async ({ params }) => {
        await outputs.delete(...input(params), params.output_identifier!);
        return respond({});
      },
    ),
  ];
}
