import type { Clock } from "../../../kernel/index.ts";
import type { Mail } from "../../../mail/index.ts";
import type { Zones } from "../../../zones/index.ts";
import type { Route } from "../../operation.ts";
import { activityRoutes } from "./activity.ts";
import { emailAnalyticsRoutes } from "./analytics.ts";
import { emailAuthRoutes } from "./auth.ts";
import { doctorRoutes, type DoctorDeps } from "./doctor.ts";
import { outboundQueueRoutes } from "./queue.ts";
import { emailRoutingRoutes } from "./routing.ts";
import { emailSendingRoutes } from "./sending.ts";

interface EmailRoutesDeps extends Pick<DoctorDeps, "diagnose"> {
  zones: Pick<Zones, "get" | "find" | "records" | "zoneAccount">;
  clock: Pick<Clock, "now">;
  resolveTxt(name: string): Promise<string[][]>;
  /** Resolves with the operator's account. Its members also see mail that belongs to no account. */
  operator(): Promise<string | undefined>;
  workerExists(account: string, name: string): Promise<boolean>;
}

/** All mail operations: routing, sending, the log, the queue, authentication and doctor. */
export const emailRoutes = (
  {
    routing,
    sending,
    sendingDomains: domains,
    suppressions,
    spool,
    queue,
    activity,
    sentMessages,
    contents,
    reports,
  }: Pick<
    Mail,
    | "routing"
    | "sending"
    | "sendingDomains"
    | "suppressions"
    | "spool"
    | "queue"
    | "activity"
    | "sentMessages"
    | "contents"
    | "reports"
  >,
  { zones, clock, resolveTxt, operator, diagnose, workerExists }: EmailRoutesDeps,
): Route[] => [
  ...emailRoutingRoutes({ zones, routing }),
  ...emailAuthRoutes({ zones, reports, clock, resolveTxt }),
  ...doctorRoutes({ zones, diagnose }),
  ...emailSendingRoutes({ zones, domains, suppressions, sending, spool, clock }),
  ...activityRoutes({
    activity,
    messages: sentMessages,
    contents,
    workerExists,
    messageDays: sentMessages.days,
    zoneAccount: zones.zoneAccount,
    operator,
  }),
  ...emailAnalyticsRoutes({ activity, clock }),
  ...outboundQueueRoutes({ queue, operator }),
];
