import { loginFile, removeLogin } from "../api/login-file.ts";
import { defineCommand } from "../command.ts";
import { printResult } from "../print.ts";

export const logout = defineCommand({
  name: "logout",
  summary: "delete the saved login",
  description: "The token stays valid: revoke it with `reelpost token revoke`.",
  options: {},
  examples: [["reelpost logout", "deletes the file that `login` created"]],
  async run(_, __, context) {
    const file = loginFile(context.env);
    const wasLoggedIn = await removeLogin(file);
    printResult(context, { logged_out: wasLoggedIn, file }, () => [
      wasLoggedIn ? `Logged out; deleted ${file}` : "Not logged in",
    ]);
    return 0;
  },
});
