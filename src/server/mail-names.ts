import { hostname } from "node:os";
import type { Settings } from "../kernel/settings.ts";

/** Under which names mail of this installation comes and goes, as several parts need them alike. */

/** Our host name in SMTP, in reports and in what we say of senders. */
export const smtpName = ({ name }: Settings["smtp"]): string => (name === "" ? hostname() : name);

/** Where mail comes in, the first one first. */
export const mxHosts = ({ mx }: Settings["email"]): { host: string; priority: number }[] =>
  mx.map((host, i) => ({ host, priority: (i + 1) * 10 }));
