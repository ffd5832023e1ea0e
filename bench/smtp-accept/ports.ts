import { connect, createServer, type AddressInfo } from "node:net";

/** Resolves with a free port on this machine, for programs that cannot choose one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Resolves when the port accepts connections; rejects if `ended` settles first, or after 20 seconds. */
export async function waitForPort(port: number, ended: Promise<unknown>): Promise<void> {
  let over = false;
  void ended.then(() => (over = true));
  for (const started = performance.now(); performance.now() - started < 20_000;) {
    if (over) throw new Error(`the process that should listen on port ${port} has exited`);
    if (await opens(port)) return;
    await new Promise((resolve) => void setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port} after 20 s`);
}

function opens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
