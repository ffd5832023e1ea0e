import { z } from "@hono/zod-openapi";
import type { PlaybackTokens } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { toBadParameter } from "./bad-parameter.ts";

interface StreamTokenDeps {
  tokens: PlaybackTokens;
}

/** Seconds since the epoch; strings are also accepted, because tokens of the hosted service contain them. */
const seconds = z.union([
  z.number().int().nonnegative(),
  z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number),
]);

const ruleSchema = z.object({
  type: z.enum(["any", "ip.src", "ip.geoip.country"]),
  action: z.enum(["allow", "block"]),
  country: z.array(z.string()).optional(),
  ip: z.array(z.string()).optional(),
});

const bodySchema = z.object({
  id: z.string().nullish(),
  pem: z.string().nullish(),
  exp: seconds.nullish(),
  nbf: seconds.nullish(),
  downloadable: z.boolean().nullish(),
  accessRules: z.array(ruleSchema).nullish(),
  flags: z.object({ original: z.boolean().nullish() }).nullish(),
});

export const streamTokenRoutes = ({ tokens }: StreamTokenDeps): Route[] => [
  route(
    {
      id: "stream-videos-create-signed-url-tokens-for-videos",
      method: "post",
      path: "/accounts/{account_id}/stream/{identifier}/token",
      tag: "Stream Videos",
      summary: "Create a signed token, which is used in place of the video's id",
      audit: false,
      permission: "Stream Write",
      translate: toBadParameter,
      body: bodySchema,
      bodyOptional: true,
      result: z.object({ token: z.string() }),
    },
    async ({ params, body: { id, pem, exp, nbf, downloadable, accessRules, flags } }) => {
      const tokenRequest = {
        id: id ?? undefined,
        pem: pem ?? undefined,
        exp: exp ?? undefined,
        nbf: nbf ?? undefined,
        downloadable: downloadable ?? undefined,
        original: flags?.original ?? undefined,
        accessRules,
      };
      return respond({ token: await tokens.sign(params.account_id!, params.identifier!, tokenRequest) });
    },
  ),
];
