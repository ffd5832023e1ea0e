import PostalMime from "postal-mime";
import { answerOf } from "./answer.ts";
import type { Env } from "./env.ts";
import { publish } from "./publish.ts";

/** Any further videos in a message are ignored. */
const MOST = 3;

export default {
  async email(message, env) {
    const mail = await PostalMime.parse(message.raw);
    const attached = mail.attachments.filter(
      ({ mimeType, filename }) =>
        mimeType.startsWith("video/") || /\.(mp4|m4v|mov|mkv|webm|avi|3gp|mpe?g|ts)$/i.test(filename ?? ""),
    );
    if (attached.length === 0) return message.setReject("There is no video attached to this message");

    const videos = await Promise.all(attached.slice(0, MOST).map((video) => publish(video, message.from, env)));
    for (const { name, id, problem } of videos)
      console.log(problem === undefined ? `published ${name} as ${id}` : `could not publish ${name}: ${problem}`);
    try {
      await message.reply({ from: message.to, subject: `Re: ${mail.subject ?? "your video"}`, ...answerOf(videos) });
    } catch (err) {
      // Unauthenticated mail gets no reply. The published video remains: failing here would cause another delivery and
      // a second video.
      console.log(`${message.from} gets no reply: ${err instanceof Error ? err.message : String(err)}`);
    }
  },
} satisfies ExportedHandler<Env>;
