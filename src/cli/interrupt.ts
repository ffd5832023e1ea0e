/** A signal to the whole process group arrives twice: directly and through the launcher, which forwards it. */
const ONE_REQUEST_MS = 250;

/** Returns an AbortSignal for Ctrl-C and SIGTERM. A second signal exits immediately. */
export function onInterrupt(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  let firstSignalAt: number | undefined;
  function onSignal(signal: NodeJS.Signals) {
    if (firstSignalAt !== undefined && performance.now() - firstSignalAt > ONE_REQUEST_MS)
      process.exit(signal === "SIGINT" ? 130 : 143);
    firstSignalAt ??= performance.now();
    controller.abort();
  }
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return { signal: controller.signal, release: () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal) };
}
