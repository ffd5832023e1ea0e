import { createServer } from "node:net";

const host = "127.0.0.1";

/** Resolves with the default port, or a free one if it is in use. */
export async function portNear(usual: number): Promise<number> {
  return (await tryPort(usual)) ?? (await tryPort(0)) ?? usual;
}

function tryPort(port: number): Promise<number | undefined> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", () => resolve(undefined));
    probe.listen(port, host, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : undefined));
    });
  });
}
