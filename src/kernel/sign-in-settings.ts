import { z } from "zod";
import { count } from "./setting-types.ts";

/** Settings of sign-in and sessions, in the group `dashboard`. */
export const signInSettings = {
  session_idle_hours: count(72, 1, 8760, "A session that is not used for this many hours ends"),
  session_max_days: count(30, 1, 365, "A session ends after this many days, whether it is used or not"),
  oidc_issuer: z
    .string()
    .default("")
    .refine(isIssuer, "is neither an https:// URL nor an http:// URL of this machine")
    .meta({
      description: "Issuer URL of an OpenID Connect provider for sign-in; empty: disabled",
      example: "https://id.example.com",
    }),
  oidc_client_id: z.string().default("").meta({
    description: "Client id at the provider. The redirect URI is `/sign-in/callback` of the dashboard",
    example: "reelpost",
  }),
  oidc_client_secret: z
    .string()
    .default("")
    .meta({ description: "Client secret issued by the provider; empty for a public client", example: "" }),
  oidc_domains: z
    .array(z.string().min(1))
    .default([])
    .meta({
      description:
        "Domains of the email addresses that the provider may sign in; empty: any. The address must belong to a member in either case",
      example: ["example.com"],
    }),
};

function isIssuer(text: string): boolean {
  const { protocol, hostname } = URL.parse(text) ?? { protocol: "", hostname: "" };
  return (
    text === "" ||
    protocol === "https:" ||
    (protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
  );
}
