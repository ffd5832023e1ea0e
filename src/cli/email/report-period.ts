import type { Options } from "../command.ts";

/** The days of DMARC and TLS reports. The server applies the defaults. */
export const reportPeriodOptions = {
  since: {
    type: "string",
    placeholder: "day",
    summary: "first day (UTC)",
    defaultText: "29 days before the last day",
  },
  until: { type: "string", placeholder: "day", summary: "last day (UTC)", defaultText: "today" },
} as const satisfies Options;
