import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type AddressLookup, systemLookup } from "../../../kernel/guarded-fetch.ts";
import type { EgressCheck } from "./policy.ts";

export type Lookup = AddressLookup;

export { systemLookup };

/** Rejected by policy: the reason is returned to the worker. */
export class EgressDenied extends Error {}
/** Unreachable: `status` is the status that the hosted service returns in this case. */
export class EgressFailed extends Error {
  readonly status: 521 | 522 | 530;
  constructor(status: 521 | 522 | 530, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

const CONNECT_TIMEOUT_MS = 15_000;

export interface EgressTarget {
  host: string;
  port: number;
  tls: boolean;
}

/**
 * Connects to the first address of the host that the policy allows. It connects to the address that was checked, so DNS
 * rebinding is ineffective.
 */
export async function connectTo(
  { host, port, tls }: EgressTarget,
  { check, lookup }: { check: EgressCheck; lookup: Lookup },
): Promise<Socket> {
  const bareHost = host.replace(/^\[(.*)\]$/, "$1");
  const addresses = isIP(bareHost) ? [bareHost] : await resolve(bareHost, lookup);
  const refusals = addresses.map((address) => check(address, port));
  const allowedAddresses = addresses.filter((_, i) => refusals[i] === undefined);
  if (allowedAddresses.length === 0) throw new EgressDenied(`fetch to ${host}:${port} is refused: ${refusals[0]}`);
  let last: unknown;
  for (const address of allowedAddresses.slice(0, 4)) {
    try {
      return await open(address, port, tls ? bareHost : undefined);
    } catch (err) {
      last = err;
    }
  }
  throw last;
}

async function resolve(host: string, lookup: Lookup): Promise<string[]> {
  try {
    const addresses = await lookup(host);
    if (addresses.length > 0) return addresses;
  } catch (err) {
    throw new EgressFailed(530, `${host} cannot be resolved`, { cause: err });
  }
  throw new EgressFailed(530, `${host} has no address`);
}

function open(address: string, port: number, servername: string | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const options = { host: address, port, noDelay: true };
    const socket =
      servername === undefined
        ? connect(options)
        : connectTls({ ...options, ...(isIP(servername) ? {} : { servername }), ALPNProtocols: ["http/1.1"] });
    const timer = setTimeout(
      () =>
        socket.destroy(new EgressFailed(522, `${address}:${port} did not respond in ${CONNECT_TIMEOUT_MS / 1000} s`)),
      CONNECT_TIMEOUT_MS,
    );
    socket.once(servername === undefined ? "connect" : "secureConnect", () => {
      clearTimeout(timer);
      socket.removeListener("error", fail);
      resolve(socket);
    });
    const fail = (err: Error) => {
      clearTimeout(timer);
      reject(
        err instanceof EgressFailed ? err : new EgressFailed(521, `${address}:${port}: ${err.message}`, { cause: err }),
      );
    };
    socket.once("error", fail);
  });
}
