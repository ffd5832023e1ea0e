import { UserError } from "../kernel/index.ts";
import { mailErrors } from "../mail/index.ts";
import type { EventReporter } from "./events.ts";

const DEFAULT_PORTS = Array.from({ length: 10 }, (_, i) => 2525 + i);

/**
 * Listens for SMTP on `port`, or on the first free port from 2525 to 2534 if it is undefined; a port other than 2525 is
 * reported. Rejects with UserError if the port, or every default port, is in use.
 */
export async function listenOnSmtpPort<Listener>(
  { host, port }: { host: string; port: number | undefined },
  listen: (port: number) => Promise<Listener>,
  report: EventReporter,
): Promise<Listener> {
  if (port !== undefined) return listen(port);
  for (const candidate of DEFAULT_PORTS) {
    try {
      const listener = await listen(candidate);
      if (candidate !== DEFAULT_PORTS[0])
        report({ event: "notice", text: `Port ${DEFAULT_PORTS[0]} is in use; SMTP listens on ${candidate}` });
      return listener;
    } catch (err) {
      if (!isPortInUse(err)) throw err;
    }
  }
  throw mailErrors.listenFailed({
    host,
    port: `${DEFAULT_PORTS[0]}-${DEFAULT_PORTS.at(-1)}`,
    reason: "all of them are in use",
  });
}

const isPortInUse = (err: unknown) =>
  err instanceof UserError && (err.cause as NodeJS.ErrnoException | undefined)?.code === "EADDRINUSE";
