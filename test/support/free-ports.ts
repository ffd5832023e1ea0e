/** For servers that run beside each other: a free port for every listener that no command line option names. */
export const FREE_PORTS: Readonly<Record<string, string>> = Object.fromEntries(
  ["DNS", "SUBMISSION", "TLS_HTTPS", "LIVE_RTMP", "LIVE_RTMPS", "LIVE_SRT"].map((name) => [
    `REELPOST_${name}_PORT`,
    "0",
  ]),
);
