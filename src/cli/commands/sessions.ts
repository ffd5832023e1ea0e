import { connectUser } from "../api/connect.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { formatUtcTime, plural, printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

interface Session {
  id: string;
  current: boolean;
  method: string;
  two_factor: boolean;
  created_on: string;
  last_used_on: string;
  expires_on: string;
  ip: string | null;
  user_agent: string | null;
}

const sessionsList = defineCommand({
  name: "sessions list",
  summary: "list your dashboard sessions",
  options: serverOptions,
  examples: [["reelpost sessions list", "with address and browser"]],
  async run(values, _, context) {
    const { api } = await connectUser(values, context);
    const sessions = await collectItems(pagesOf<Session>(api, "/user/sessions", { perPage: 50 }));
    printResult(context, sessions, (paint) =>
      table(
        ["id", "signed in by", "created", "last used", "expires", "address", "browser"],
        sessions.map((session) => [
          session.id,
          session.two_factor ? `${session.method} and code` : session.method,
          formatUtcTime(session.created_on),
          formatUtcTime(session.last_used_on),
          formatUtcTime(session.expires_on),
          session.ip,
          session.user_agent,
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const sessionsRevoke = defineCommand({
  name: "sessions revoke",
  summary: "end a dashboard session, or all of them",
  arguments: [{ name: "id", summary: "id from `sessions list`" }],
  options: { all: { type: "boolean", summary: "end all sessions" }, ...yesOption, ...serverOptions },
  examples: [
    ["reelpost sessions revoke ed17574386854bf78a67040be0a770b0 --yes", "takes effect immediately on all processes"],
    ["reelpost sessions revoke --all", "for example after a lost device"],
  ],
  async run({ all, yes, ...values }, [id], context) {
    if ((id === undefined) !== (all === true))
      throw commandErrors.badContent({
        what: "sessions revoke",
        reason: "it needs either a session id or --all",
        fix: "`reelpost sessions list` prints the ids",
      });
    const { api } = await connectUser(values, context);
    await confirm(id === undefined ? "End all dashboard sessions?" : `End the session ${id}?`, yes, context);
    if (id === undefined) {
      const { revoked } = await api.result<{ revoked: number }>("DELETE", "/user/sessions");
      printResult(context, { revoked }, () => [`Ended ${plural(revoked, "session")}`]);
    } else {
      await api.result("DELETE", `/user/sessions${at`/${id}`}`);
      printResult(context, { id, revoked: true }, () => [`Ended ${id}`]);
    }
    return 0;
  },
});

export const sessionsCommands: readonly Command[] = [sessionsList, sessionsRevoke];
