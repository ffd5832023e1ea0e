import { handleRequest } from "./http.ts";
import { receive } from "./receive.ts";
import type { Env } from "./env.ts";

export default {
  async email(message, env) {
    const mail = await receive(message, env);
    console.log(
      `stored "${mail.subject}" from ${mail.sender} with ${mail.attachments.length} attachment(s) as ${mail.id}`,
    );
  },
  fetch: handleRequest,
} satisfies ExportedHandler<Env>;
