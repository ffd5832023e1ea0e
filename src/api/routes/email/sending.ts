import type { Suppressions } from "../../../mail/index.ts";
import type { Route } from "../../operation.ts";
import { olderSuppressionsRoutes } from "./older-suppressions.ts";
import { sendingDomainsRoutes, type SendingDomainsDeps } from "./sending-domains.ts";
import { sendingMessagesRoutes, type SendingMessagesDeps } from "./sending-messages.ts";
import { sendingSuppressionsRoutes } from "./sending-suppressions.ts";

type EmailSendingDeps = SendingMessagesDeps & Omit<SendingDomainsDeps, "suppressions"> & { suppressions: Suppressions };

/** All routes under `email/sending` of zones and accounts, except sending messages. */
export const emailSendingRoutes = (deps: EmailSendingDeps): Route[] => [
  ...sendingMessagesRoutes(deps),
  ...sendingDomainsRoutes(deps),
  ...sendingSuppressionsRoutes(deps),
  ...olderSuppressionsRoutes(deps),
];
