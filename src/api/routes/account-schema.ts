import { z } from "@hono/zod-openapi";
import type { Account } from "../../accounts/index.ts";

export const accountResult = z.object({
  id: z.string(),
  name: z.string(),
  type: z.enum(["standard", "enterprise"]),
  created_on: z.iso.datetime(),
  settings: z.object({ abuse_contact_email: z.string().optional(), enforce_twofactor: z.boolean() }),
});

export const showAccount = ({ id, name, type, settings, createdAt }: Account): z.input<typeof accountResult> => ({
  id,
  name,
  type,
  created_on: new Date(createdAt).toISOString(),
  settings: {
    ...(settings.abuseContactEmail !== undefined && { abuse_contact_email: settings.abuseContactEmail }),
    enforce_twofactor: settings.enforceTwofactor,
  },
});

export const idResult = z.object({ id: z.string() });
export const direction = z.enum(["asc", "desc"]).optional();
