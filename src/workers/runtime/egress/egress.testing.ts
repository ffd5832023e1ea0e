import { settingsSchema } from "../../../kernel/settings.ts";
import { serveEgress } from "./policy.ts";

/** The policy of `reelpost serve` with default settings. */
export const SERVE_EGRESS = serveEgress(settingsSchema.parse({}));
