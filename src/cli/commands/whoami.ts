import { connectUser } from "../api/connect.ts";
import { hasErrorCode } from "../api/codes.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { defineCommand } from "../command.ts";
import { oneLine } from "../../kernel/text.ts";
import { nameValueLines, formatUtcTime, printResult } from "../print.ts";
import { serverOptions } from "../shared-options.ts";

interface Verified {
  id: string;
  status: string;
  expires_on?: string;
}

export const whoami = defineCommand({
  name: "whoami",
  summary: "show the server, token and accounts in use",
  options: serverOptions,
  examples: [["reelpost whoami", "verifies the login"]],
  async run(values, _, context) {
    const { api, account } = await connectUser(values, context);
    const token = await api.result<Verified>("GET", "/user/tokens/verify");
    // A token may lack the permission to read its own user.
    const user = await api.result<{ id: string; email: string }>("GET", "/user").catch((thrown: unknown) => {
      if (hasErrorCode(thrown, 9109, 10000)) return undefined;
      throw thrown;
    });
    const accounts = await collectItems(pagesOf<{ id: string; name: string }>(api, "/accounts", { perPage: 50 }));
    printResult(
      context,
      {
        url: api.url,
        user: user ?? null,
        token,
        account: account ?? null,
        accounts: accounts.map(({ id, name }) => ({ id, name })),
      },
      (paint) =>
        nameValueLines(
          [
            ["server", api.url],
            ["user", user === undefined ? undefined : oneLine(user.email)],
            [
              "token",
              `${token.id}, ${token.status}${token.expires_on === undefined ? "" : `, expires ${formatUtcTime(token.expires_on)}`}`,
            ],
            ...accounts.map(({ id, name }): [string, string] => [
              "account",
              `${id}  ${oneLine(name)}${id === account ? "  (selected)" : ""}`,
            ]),
          ],
          paint,
        ),
    );
    return 0;
  },
});
