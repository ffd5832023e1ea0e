import { hostname } from "node:os";
import type { Settings } from "../kernel/settings.ts";

/** Returns the host name of this server in SMTP, delivery reports and Authentication-Results. */
export const smtpName = ({ name }: Settings["smtp"]): string => (name === "" ? hostname() : name);

/** Returns hosts that receive mail, in order of preference. */
export const mxHosts = ({ mx }: Settings["email"]): { host: string; priority: number }[] =>
  mx.map((host, i) => ({ host, priority: (i + 1) * 10 }));
