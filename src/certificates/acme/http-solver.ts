import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { createChallengeResponsesTable } from "../certificates-table.ts";
import type { Solver } from "./solver.ts";

const CHALLENGE_PATH = "/.well-known/acme-challenge/";

const HOUR_MS = 3_600_000;
/** RFC 8555 8.3: base64url. */
const TOKEN = /^[\w-]{1,200}$/;

export interface HttpSolver extends Solver {
  /**
   * Responds to requests under /.well-known/acme-challenge/ for any host. Resolves with false if the token has no
   * response.
   */
  respond(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

/**
 * HTTP-01 (RFC 8555 8.3). Challenge responses are stored in the database, because the server may connect to any
 * process.
 */
export function createHttpSolver({ db, clock }: { db: Db; clock: Clock }): HttpSolver {
  const proofs = createChallengeResponsesTable(db);
  return {
    type: "http-01",
    present: ({ token, keyAuthorization }) => proofs.add(token, keyAuthorization, clock.now() + HOUR_MS),
    cleanUp: ({ token }) => proofs.remove(token, clock.now()),
    async respond(request, response) {
      const path = request.url!.split("?", 1)[0]!;
      const token = path.slice(CHALLENGE_PATH.length);
      if (
        !path.startsWith(CHALLENGE_PATH) ||
        !TOKEN.test(token) ||
        (request.method !== "GET" && request.method !== "HEAD")
      )
        return false;
      const answer = await proofs.find(token, clock.now());
      if (answer === undefined) return false;
      response
        .writeHead(200, { "content-type": "application/octet-stream", "content-length": Buffer.byteLength(answer) })
        .end(request.method === "HEAD" ? undefined : answer);
      return true;
    },
  };
}
