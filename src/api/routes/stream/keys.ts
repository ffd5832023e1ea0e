import { z } from "@hono/zod-openapi";
import { encodeJwk, encodePem, type SigningKeys } from "../../../stream/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { secretField } from "../../secret-fields.ts";
import { itemsOfPage, wholeListQuery } from "./whole-list.ts";

interface StreamKeysDeps {
  keys: Pick<SigningKeys, "create" | "list" | "delete">;
}

const tag = "Stream Signing Keys";
const KEYS_PATH = "/accounts/{account_id}/stream/keys";

const newKeySchema = z.object({
  id: z.string(),
  pem: secretField(z.string()),
  jwk: secretField(z.string()),
  created: z.string(),
});
const keySchema = z.object({ id: z.string(), key_id: z.string(), created: z.string() });

export const streamKeysRoutes = ({ keys }: StreamKeysDeps): Route[] => [
  route(
    {
      id: "stream-signing-keys-list-signing-keys",
      method: "get",
      path: KEYS_PATH,
      tag,
      summary: "List signing keys",
      permission: "Stream Read",
      query: wholeListQuery,
      result: z.array(keySchema),
    },
    async ({ params, query }) =>
      respond(
        itemsOfPage(await keys.list(params.account_id!), query).map(({ id, created }) => ({
          id,
          key_id: id,
          created: new Date(created).toISOString(),
        })),
      ),
  ),
  route(
    {
      id: "stream-signing-keys-create-signing-keys",
      method: "post",
      path: KEYS_PATH,
      tag,
      summary: "Create a signing key; its private key is returned only once",
      permission: "Stream Write",
      result: newKeySchema,
    },
    async (call) => {
      // Clients send no body, `{}`, or their usual body.
      await call.bytes();
      const { id, privateKey, created } = await keys.create(call.params["account_id"]!);
      return respond({
        id,
        pem: encodePem(privateKey),
        jwk: encodeJwk(id, privateKey),
        created: new Date(created).toISOString(),
      });
    },
  ),
  route(
    {
      id: "stream-signing-keys-delete-signing-keys",
      method: "delete",
      path: `${KEYS_PATH}/{identifier}`,
      tag,
      summary: "Delete a signing key; tokens signed with it become invalid",
      permission: "Stream Write",
      result: z.string(),
    },
    async ({ params }) => {
      await keys.delete(params.account_id!, params.identifier!);
      return respond("ok");
    },
  ),
];
