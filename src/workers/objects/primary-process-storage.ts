import { text } from "node:stream/consumers";
import type { PrimaryProcess, PrimaryProcessService } from "../../kernel/primary-process.ts";
import { messageOf } from "../../kernel/index.ts";
import type { ObjectsPage } from "./port.ts";
import type { ObjectStorage } from "./storage.ts";

/** The methods of the storage with which a process manages objects that another process runs. */
type ManagedStorage = Pick<ObjectStorage, "remove" | "list">;

/** The service of the primary process that executes calls from createRemoteObjectStorage(). */
export const OBJECT_STORAGE_CALLS = "object-storage";

type Call =
  | { op: "remove"; owner: string; namespaces?: readonly string[] | undefined }
  | { op: "list"; owner: string; namespace: string; page: Parameters<ObjectStorage["list"]>[2] };

type Answer = { result: ObjectsPage | undefined } | { error: string };

/** The storage of the Durable Objects that the primary process runs. */
export function createRemoteObjectStorage({ connect }: Pick<PrimaryProcess, "connect">): ManagedStorage {
  async function send(call: Call): Promise<ObjectsPage | undefined> {
    const response = await text(await connect(OBJECT_STORAGE_CALLS, call));
    if (response === "") throw new Error("the primary process ended the connection");
    const answer = JSON.parse(response) as Answer;
    if ("error" in answer) throw new Error(answer.error);
    return answer.result;
  }
  return {
    remove: async (owner, namespaces) => void (await send({ op: "remove", owner, namespaces })),
    list: async (owner, namespace, page) => (await send({ op: "list", owner, namespace, page }))!,
  };
}

/**
 * Executes the calls of other processes. `refresh` looks up the deployment of a worker: the version that has lost a
 * namespace must not start again while its files are deleted.
 */
export function serveObjectStorage(
  storage: ManagedStorage,
  refresh: (scriptId: string) => Promise<void>,
): PrimaryProcessService {
  async function execute(call: Call): Promise<ObjectsPage | undefined> {
    if (call.op === "list") return storage.list(call.owner, call.namespace, call.page);
    if (call.op !== "remove") throw new Error("unknown operation");
    await refresh(call.owner);
    await storage.remove(call.owner, call.namespaces);
    return undefined;
  }
  return async (call, connection) => {
    const closed = new Promise<void>((resolve) => void connection.once("close", resolve));
    const answer: Answer = await execute(call as unknown as Call).then(
      (result) => ({ result }),
      (err: unknown) => ({ error: messageOf(err) }),
    );
    connection.end(JSON.stringify(answer));
    await closed;
  };
}
