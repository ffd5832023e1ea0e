import { once } from "node:events";
import { get } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export interface Backend {
  httpPort: number;
  smtpPort: number;
}

export interface Balancer {
  httpPort: number;
  smtpPort: number;
  /** Stops new connections to the backend until `until(backend, true)` is called. */
  remove(backend: Backend): void;
  /** Resolves when the backend is in rotation or, with `isReady` false, when it no longer is. */
  until(backend: Backend, isReady: boolean): Promise<void>;
  close(): Promise<void>;
}

const CHECK_MS = 100;
const CHECK_TIMEOUT_MS = 2_000;

/**
 * Starts a TCP load balancer for the backends whose /readyz returns 200. If a backend refuses a connection, it tries
 * the next one, as other load balancers do.
 */
export async function startBalancer(backends: readonly Backend[]): Promise<Balancer> {
  const ready = new Set<Backend>();
  const waiting: { backend: Backend; isReady: boolean; resolve(): void }[] = [];
  const removed = new Set<Backend>();
  const sockets = new Set<Socket>();
  let turn = 0;

  const checks = backends.map((backend) =>
    setInterval(() => {
      void isReady(backend.httpPort).then((ok) => {
        if (ok && !removed.has(backend)) ready.add(backend);
        else ready.delete(backend);
        for (const waiter of waiting.splice(0))
          if (waiter.isReady === ready.has(waiter.backend)) waiter.resolve();
          else waiting.push(waiter);
      });
    }, CHECK_MS),
  );

  function serve(portOf: (backend: Backend) => number): Server {
    return createServer({ allowHalfOpen: true }, (client) => {
      track(client);
      const candidates = [...ready];
      const first = turn++;
      const tryNext = (attempt: number) => {
        const backend = candidates[(first + attempt) % candidates.length];
        if (backend === undefined || attempt === candidates.length) return void client.destroy();
        const upstream = connect({ port: portOf(backend), host: "127.0.0.1", allowHalfOpen: true });
        track(upstream);
        const onRefused = () => tryNext(attempt + 1);
        upstream.once("error", onRefused).once("connect", () => {
          upstream.off("error", onRefused).on("error", () => client.destroy());
          client.on("error", () => upstream.destroy());
          client.pipe(upstream).pipe(client);
        });
      };
      tryNext(0);
    }).listen(0, "127.0.0.1");
  }

  function track(socket: Socket) {
    sockets.add(socket);
    socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  }

  const http = serve(({ httpPort }) => httpPort);
  const smtp = serve(({ smtpPort }) => smtpPort);
  await Promise.all([http, smtp].map((server) => once(server, "listening")));
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  return {
    httpPort: portOf(http),
    smtpPort: portOf(smtp),
    remove(backend) {
      removed.add(backend);
      ready.delete(backend);
    },
    until(backend, wanted) {
      if (wanted) removed.delete(backend);
      return new Promise((resolve) => waiting.push({ backend, isReady: wanted, resolve: () => resolve() }));
    },
    async close() {
      for (const timer of checks) clearInterval(timer);
      for (const socket of sockets) socket.destroy();
      await Promise.all([http, smtp].map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const check = get(
      { port, host: "127.0.0.1", path: "/readyz", agent: false, timeout: CHECK_TIMEOUT_MS },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    check.once("error", () => resolve(false)).once("timeout", () => void check.destroy());
  });
}
