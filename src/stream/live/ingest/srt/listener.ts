import { createSocket } from "node:dgram";
import { createSrtListener, type SrtListenerDeps } from "../../../../protocol/srt/index.ts";

interface SrtListenerOptions extends Pick<SrtListenerDeps, "lookUp" | "most" | "latencyMs" | "onError"> {
  host: string;
  /** 0 selects a free port. */
  port: number;
}

interface SrtUdpListener {
  port: number;
  connections(): number;
  /** Notifies all callers and closes the port. */
  close(): Promise<void>;
}

const TICK_MS = 10;
/** After a stall of this length, the process reads pending input before it times out any caller. */
const STALL_MS = 500;
const SOCKET_BUFFER_BYTES = 4 * 1024 * 1024;

/** Accepts SRT callers on a UDP port. Rejects with the system's error if the port is unavailable. */
export async function listenSrt({ host, port, ...options }: SrtListenerOptions): Promise<SrtUdpListener> {
  const udp = createSocket({ type: host.includes(":") ? "udp6" : "udp4" });
  let timer: NodeJS.Timeout | undefined;
  let lastTickAt = 0;
  let pendingSends = 0;
  let onSent = () => {};
  let isClosed = false;

  const listener = createSrtListener({
    ...options,
    now: () => performance.now(),
    send(datagram, to) {
      pendingSends++;
      udp.send(datagram, to.port, to.address, () => {
        if (--pendingSends === 0) onSent();
      });
    },
    onConnections(connections) {
      if (connections === 0) {
        clearInterval(timer);
        timer = undefined;
      } else if (timer === undefined) {
        lastTickAt = performance.now();
        timer = setInterval(tick, TICK_MS);
      }
    },
  });

  function tick() {
    const tickTime = performance.now();
    const hasStalled = tickTime - lastTickAt > STALL_MS;
    lastTickAt = tickTime;
    if (!hasStalled) listener.tick();
  }

  udp.on("message", (datagram, from) => {
    // Port 0 cannot receive, and sending to it throws.
    if (from.port !== 0) listener.receive(datagram, from);
  });
  await new Promise<void>((resolve, reject) => {
    udp.once("error", reject);
    udp.bind(port, host, () => {
      udp.off("error", reject).on("error", options.onError);
      resolve();
    });
  });
  for (const sizeSetter of ["setRecvBufferSize", "setSendBufferSize"] as const) {
    try {
      udp[sizeSetter](SOCKET_BUFFER_BYTES);
    } catch {
      // The operating system allows less, and has granted its maximum.
    }
  }

  return {
    port: udp.address().port,
    connections: listener.connections,
    async close() {
      if (isClosed) return;
      isClosed = true;
      listener.close();
      // Closing the socket now would drop datagrams that are still being sent.
      if (pendingSends > 0) await new Promise<void>((resolve) => (onSent = resolve));
      await new Promise<void>((resolve) => udp.close(() => resolve()));
    },
  };
}
