import { z } from "@hono/zod-openapi";
import { tailErrors, workerErrors, type Scripts, type Tail, type Tails } from "../../workers/index.ts";
import type { ClientAddress } from "../../kernel/client-address.ts";
import { respond, route, type Call, type Route } from "../operation.ts";
import { tailPath } from "../tail-socket.ts";

interface WorkersTailsRoutesOptions {
  tails: Pick<Tails, "create" | "list" | "delete">;
  scripts: Pick<Scripts, "get">;
  address: ClientAddress;
  /** Public URL of this server; default: derived from the request. */
  publicUrl?: string;
}

const PATH = "/accounts/{account_id}/workers/scripts/{script_name}/tails";
const tag = "Worker Tail Logs";
const permission = "Workers Tail Read";

const tail = z.object({ id: z.string(), url: z.string(), expires_at: z.iso.datetime() }).openapi("Tail");

/** Live logs: tails are created, listed and deleted here, and read over a WebSocket (tail-socket.ts). */
export function workersTailsRoutes({ tails, scripts, address, publicUrl }: WorkersTailsRoutesOptions): Route[] {
  async function scriptOf({ params }: Pick<Call, "params">): Promise<[account: string, script: string]> {
    const { account_id: account, script_name: script } = params as { account_id: string; script_name: string };
    if ((await scripts.get(account, script)) === undefined) throw workerErrors.scriptMissing({ script });
    return [account, script];
  }

  function showTail({ id, expiresAt }: Tail, { request, node }: Pick<Call, "request" | "node">): z.input<typeof tail> {
    const base = publicUrl
      ? publicUrl
      : `${address.scheme(node.incoming)}://${request.headers.get("host") ?? "localhost"}`;
    return {
      id,
      url: base.replace(/^http/, "ws").replace(/\/$/, "") + tailPath(id),
      expires_at: expiresAt.toISOString(),
    };
  }

  return [
    route(
      {
        id: "worker-tail-logs-start-tail",
        method: "post",
        path: PATH,
        tag,
        summary: "Start a tail",
        audit: false,
        permission,
        bodyOptional: true,
        body: z.object({
          filters: z.unknown().optional().openapi({
            type: "array",
            description:
              "A record must match all filters: outcome, sampling_rate, method, header, client_ip, query, scriptVersion",
          }),
        }),
        result: tail,
      },
      async (call) => {
        const [account, script] = await scriptOf(call);
        return respond(
          showTail(
            await tails.create(account, script, {
              filters: call.body.filters,
              clientIp: address.ip(call.node.incoming),
              token: call.caller.tokenId,
            }),
            call,
          ),
        );
      },
    ),
    // The published API returns one tail instead of a list: the newest one.
    route(
      {
        id: "worker-tail-logs-list-tails",
        method: "get",
        path: PATH,
        tag,
        summary: "Get the newest tail of a worker",
        permission,
        result: tail,
      },
      async (call) => {
        const [newest, ...otherTails] = await tails.list(...(await scriptOf(call)));
        if (newest === undefined) throw tailErrors.tailMissing();
        return respond(showTail(newest, call), { info: { count: 1, total_count: 1 + otherTails.length } });
      },
    ),
    route(
      {
        id: "worker-tail-logs-delete-tail",
        method: "delete",
        path: `${PATH}/{id}`,
        tag,
        summary: "Delete a tail",
        audit: false,
        permission,
        result: z.null(),
      },
      async (call) => {
        const {
          account_id: account,
          script_name: script,
          id,
        } = call.params as { account_id: string; script_name: string; id: string };
        if (!(await tails.delete(account, script, id))) throw tailErrors.tailMissing();
        return respond(null);
      },
    ),
  ];
}
