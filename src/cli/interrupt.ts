/** Whoever signals a whole group of processes reaches us twice: by itself and through the launcher, which passes it on. */
const ONE_REQUEST_MS = 250;

/** Ctrl-C, or a request to end, as a signal. A later one leaves at once. */
export function onInterrupt(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let asked: number | undefined;
  function onSignal(signal: NodeJS.Signals) {
    if (asked !== undefined && performance.now() - asked > ONE_REQUEST_MS)
      process.exit(signal === "SIGINT" ? 130 : 143);
    asked ??= performance.now();
    controller.abort();
  }
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return { signal: controller.signal, release: () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal) };
}
