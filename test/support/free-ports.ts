/** A free port for every listener that has no command line option, so that servers can run in parallel. */
export const FREE_PORTS: Readonly<Record<string, string>> = Object.fromEntries(
  ["DASHBOARD", "DNS", "SUBMISSION", "TLS_HTTPS", "LIVE_RTMP", "LIVE_RTMPS", "LIVE_SRT"].map((name) => [
    `REELPOST_${name}_PORT`,
    "0",
  ]),
);
