import { z } from "@hono/zod-openapi";
import { normalizeName } from "../../../protocol/dns/index.ts";
import type { Zone, Zones } from "../../../zones/index.ts";
import { apiErrors } from "../../errors.ts";
import { respond, route, type Route } from "../../operation.ts";

const findingSchema = z.object({
  check: z.string(),
  status: z.enum(["ok", "warning", "error"]),
  found: z.string().optional(),
  expected: z.string().optional(),
  fix: z.string().optional(),
});

export interface DoctorDeps {
  zones: Pick<Zones, "get">;
  diagnose(zone: Zone, name: string): Promise<z.input<typeof findingSchema>[]>;
}

/** The diagnosis behind `reelpost doctor`. */
export const doctorRoutes = ({ zones, diagnose }: DoctorDeps): Route[] => [
  route(
    {
      id: "email-doctor",
      method: "get",
      path: "/zones/{zone_id}/email/doctor",
      tag: "Email Auth",
      summary: "Diagnose the mail setup of a domain: DNS, ports, reverse DNS, certificates",
      permission: "Zone Settings Read",
      query: z.object({ name: z.string().max(255).optional() }),
      result: z.array(findingSchema),
    },
    async ({ params, query: { name } }) => {
      const zone = await zones.get(params.zone_id!);
      return respond(await diagnose(zone, nameIn(zone, name)));
    },
  ),
];

function nameIn(zone: Zone, requestedName: string | undefined): string {
  if (requestedName === undefined || requestedName === "") return zone.name;
  const name = attempt(() => normalizeName(requestedName));
  if (name === undefined || (name !== zone.name && !name.endsWith(`.${zone.name}`)))
    throw apiErrors.badRequest({ reason: `${requestedName} is not a name in ${zone.name}` });
  return name;
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
