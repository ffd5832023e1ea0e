import type { Env } from "./env.ts";
import site from "./site.html";
import { createVideos, type Notification } from "./videos.ts";
import { disbelieve } from "./webhook.ts";

const NAME_CHARACTERS = 200;

export default {
  /** `/` is the page; its script calls `/api/uploads` and `/api/videos[/<uid>]`; the server posts to `/webhook`. */
  async fetch(request, env): Promise<Response> {
    const url = new URL(request.url);
    const videos = createVideos(env);
    const [, section, kind, uid] = url.pathname.split("/");

    if (url.pathname === "/" && request.method === "GET") return page(videos.delivery);
    if (url.pathname === "/webhook" && request.method === "POST") return takeNotification(request, env);
    if (section === "api" && kind === "uploads" && request.method === "POST") {
      const { name } = await request.json<{ name?: unknown }>().catch(() => ({ name: undefined }));
      if (typeof name !== "string" || name === "") return Response.json({ error: "name is missing" }, { status: 400 });
      return Response.json(await videos.invite(name.slice(0, NAME_CHARACTERS), url.host));
    }
    if (section === "api" && kind === "videos" && request.method === "GET") {
      if (uid === undefined) return Response.json(await videos.list());
      const video = await videos.show(uid);
      return video === undefined ? Response.json({ error: "no such video" }, { status: 404 }) : Response.json(video);
    }
    return new Response("Not found\n", { status: 404 });
  },
} satisfies ExportedHandler<Env>;

async function takeNotification(request: Request, env: Env): Promise<Response> {
  const body = await request.text();
  const why = await disbelieve(body, request.headers.get("webhook-signature"), env.WEBHOOK_SECRET);
  if (why !== undefined) {
    console.warn(`a notification was refused: ${why}`);
    return new Response(`${why}\n`, { status: 403 });
  }
  const notification = JSON.parse(body) as Notification;
  await createVideos(env).settle(notification);
  console.log(`${notification.uid} is ${notification.status.state}`);
  return new Response("ok\n");
}

/** Scripts need a nonce; frames and uploads are limited to the delivery origin. */
function page(delivery: string): Response {
  const nonce = crypto.randomUUID();
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self' ${delivery}; frame-src ${delivery}; base-uri 'none'; form-action 'none'`;
  return new Response(site.replaceAll("{{nonce}}", nonce), {
    headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": policy },
  });
}
