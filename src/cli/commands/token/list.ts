import { connectUser } from "../../api/connect.ts";
import { collect, pagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

interface Token {
  id: string;
  name: string;
  status: string;
  issued_on?: string;
  last_used_on?: string;
  expires_on?: string;
}

export const tokenList = defineCommand({
  name: "token list",
  summary: "list your API tokens",
  options: serverOptions,
  examples: [["reelpost token list", "without their values"]],
  async run(values, _, surroundings) {
    const { api } = await connectUser(values, surroundings);
    const tokens = await collect(pagesOf<Token>(api, "/user/tokens", { perPage: 50 }));
    printResult(surroundings, tokens, (paint) =>
      table(
        ["id", "name", "status", "created", "last used", "expires"],
        tokens.map((token) => [
          token.id,
          token.name,
          token.status,
          moment(token.issued_on),
          moment(token.last_used_on),
          moment(token.expires_on),
        ]),
        paint,
      ),
    );
    return 0;
  },
});
