import { z } from "zod";

const pattern = z.string().min(1).meta({ description: "a route pattern", example: "example.com/*" });

/** An entry of `routes`, and the field `route`. */
export const routeEntry = z
  .union([
    pattern,
    z.strictObject({
      pattern,
      zone_id: z.string().min(1).optional(),
      zone_name: z.string().min(1).optional(),
      custom_domain: z.boolean().optional(),
      enabled: z.boolean().optional(),
      previews_enabled: z.boolean().optional(),
    }),
  ])
  .meta({
    description: "a pattern or an object with a pattern",
    example: { pattern: "example.com/*", zone_name: "example.com" },
  });
