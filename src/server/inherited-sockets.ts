import { addressOfSocket } from "./socket-address.ts";

/** The first inherited file descriptor (sd_listen_fds(3)). */
const FIRST_FD = 3;

/**
 * Sockets that a service manager opened, by name (systemd socket activation). While this program restarts, connections
 * wait in the socket instead of being refused. Names are those of `FileDescriptorName=`; a single socket without a name
 * is `http`.
 */
export function inheritedSockets(env: Record<string, string | undefined>, pid = process.pid): Map<string, number> {
  const count = Number(env.LISTEN_FDS ?? 0);
  // Another LISTEN_PID: the variables were meant for a parent process, which did not remove them. If it is unset, the
  // launcher has passed the sockets to this process.
  if (!Number.isInteger(count) || count < 1 || (env.LISTEN_PID !== undefined && Number(env.LISTEN_PID) !== pid))
    return new Map();
  const names = (env.LISTEN_FDNAMES ?? "").split(":");
  return new Map(
    Array.from({ length: Math.min(count, 16) }, (_, index) => [nameOf(names[index], count), FIRST_FD + index]),
  );
}

const nameOf = (given: string | undefined, count: number) =>
  given === undefined || given === "" || (count === 1 && given.endsWith(".socket")) ? "http" : given;

/**
 * Returns the address of a listener: that of its inherited socket, which may differ from the setting, or else the
 * setting. A socket with an unreadable address counts as public; a socket that is not TCP is reachable only from this
 * machine.
 */
export function hostOfSocket(
  name: string,
  setting: string,
  sockets: Map<string, number>,
  addressOf: typeof addressOfSocket = addressOfSocket,
): string {
  const fd = sockets.get(name);
  if (fd === undefined) return setting;
  const address = addressOf(fd);
  return address === undefined ? "0.0.0.0" : address === "local" ? "localhost" : address;
}
