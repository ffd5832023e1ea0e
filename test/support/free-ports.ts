/** For servers that run in parallel: a free port for every listener without a command line option. */
export const FREE_PORTS: Readonly<Record<string, string>> = Object.fromEntries(
  ["DNS", "SUBMISSION", "TLS_HTTPS", "LIVE_RTMP", "LIVE_RTMPS", "LIVE_SRT"].map((name) => [
    `REELPOST_${name}_PORT`,
    "0",
  ]),
);
