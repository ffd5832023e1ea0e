import { connectToApi, type ApiConnection } from "../api/connect.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import type { Options, CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { serverOptions } from "../shared-options.ts";

/** Options of the server and the zone. */
export const zoneOptions = {
  "zone-id": {
    type: "string",
    placeholder: "id",
    summary: "id of the zone",
    defaultText: "the zone that contains the domain",
  },
  ...serverOptions,
} as const satisfies Options;

interface ZoneValues {
  "zone-id": string | undefined;
  url: string | undefined;
  token: string | undefined;
  account: string | undefined;
}

interface Zone {
  id: string;
  name: string;
  status: string;
}

export interface ZoneConnection extends ApiConnection {
  zone: Zone;
  /** The name as given, in lower case without a trailing dot. */
  domain: string;
  /** `/zones/<id>` */
  path: string;
}

/** Resolves with the zone that contains a domain: its own zone, or that of the nearest parent domain. */
export async function connectZone(
  domain: string,
  { "zone-id": id, ...values }: ZoneValues,
  context: CommandContext,
): Promise<ZoneConnection> {
  const connection = await connectToApi(values, context);
  const { api, account } = connection;
  const name = domain.toLowerCase().replace(/\.$/, "");
  const zone = id === undefined ? await zoneOf(name) : await api.result<Zone>("GET", at`/zones/${id}`);
  return { ...connection, zone, domain: name, path: at`/zones/${zone.id}` };

  async function zoneOf(text: string): Promise<Zone> {
    const labels = text.split(".");
    for (let first = 0; first < labels.length - 1; first++) {
      const [firstZone] = await api.result<Zone[]>("GET", "/zones", {
        query: { name: labels.slice(first).join("."), "account.id": account },
      });
      if (firstZone !== undefined) return firstZone;
    }
    throw commandErrors.zoneUnknown({ domain: text });
  }
}

export const listAccountZones = ({ api, account }: ApiConnection) =>
  collectItems(
    pagesOf<Zone & { created_on: string; name_servers: string[] }>(api, "/zones", {
      query: { "account.id": account },
      perPage: 50,
    }),
  );

/** `name` for a subdomain; empty for the zone's own name. */
export const nameIn = ({ zone, domain }: ZoneConnection): { name?: string } =>
  domain === zone.name ? {} : { name: domain };
