import type { Settings } from "../kernel/settings.ts";
import { hostOfSocket } from "./inherited-sockets.ts";
import type { ProcessRole } from "./roles.ts";

/** Returns every address that this process listens on with its roles: from the inherited socket or the setting. */
export function listenHosts(
  settings: Pick<Settings, "http" | "dashboard" | "smtp" | "submission" | "dns" | "live" | "tls">,
  roles: ReadonlySet<ProcessRole>,
  sockets: Map<string, number>,
): string[] {
  const hostAt = (name: string, setting: string) => hostOfSocket(name, setting, sockets);
  return [
    // Every role listens on the HTTP port for health and metrics.
    hostAt("http", settings.http.host),
    ...(settings.tls.https ? [hostAt("https", settings.http.host)] : []),
    ...(roles.has("api") && settings.dashboard.enabled ? [hostAt("dashboard", settings.dashboard.host)] : []),
    ...(roles.has("smtp")
      ? [
          hostAt("smtp", settings.smtp.host),
          ...(settings.submission.enabled ? [hostAt("submission", settings.submission.host)] : []),
        ]
      : []),
    ...(roles.has("dns") ? [settings.dns.host] : []),
    ...(roles.has("live") ? [settings.live.host] : []),
  ];
}
