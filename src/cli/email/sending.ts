import type { Paint } from "../../kernel/paint.ts";
import { commandErrors } from "../errors.ts";
import { nameValueLines } from "../print.ts";
import { yesNo } from "./routing.ts";
import type { ZoneConnection } from "./zone.ts";

/** A sending domain, as in the API. */
export interface ApiSendingDomain {
  tag: string;
  name: string;
  enabled: boolean;
  created?: string;
  modified?: string;
  dkim_selector?: string;
  return_path_domain?: string;
  drop_suppressed_recipients?: boolean;
}

export interface ApiSendResult {
  message_id?: string;
  delivered: string[];
  queued: string[];
  permanent_bounces: string[];
  suppressed_recipients?: string[];
}

export const sendingPath = ({ path }: ZoneConnection) => `${path}/email/sending/subdomains`;

/** Resolves with the sending domain with exactly this name. */
export async function findSendingDomain(zone: ZoneConnection): Promise<ApiSendingDomain> {
  const domains = await zone.api.result<ApiSendingDomain[]>("GET", sendingPath(zone));
  const sendingDomain = domains.find(({ name }) => name === zone.domain);
  if (sendingDomain === undefined) throw commandErrors.sendingUnknown({ domain: zone.domain });
  return sendingDomain;
}

export const sendingLines = (domain: ApiSendingDomain, paint: Paint): string[] =>
  nameValueLines(
    [
      ["domain", domain.name],
      ["id", domain.tag],
      ["enabled", yesNo(domain.enabled)],
      ["return path", domain.return_path_domain],
      ["selector", domain.dkim_selector],
      ["suppressed", domain.drop_suppressed_recipients === true ? "dropped" : "rejected"],
    ],
    paint,
  );

export function resultLines(result: ApiSendResult, paint: Paint): string[] {
  const list = (addresses: readonly string[] | undefined) =>
    addresses === undefined || addresses.length === 0 ? undefined : addresses.join(", ");
  return nameValueLines(
    [
      ["message", result.message_id],
      ["delivered", list(result.delivered)],
      ["queued", list(result.queued)],
      ["rejected", list(result.permanent_bounces)],
      ["suppressed", list(result.suppressed_recipients)],
    ],
    paint,
  );
}
