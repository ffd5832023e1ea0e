import type { Context } from "../context.ts";
import type { V4Client } from "../port.ts";
import { apiPath, resultIfFound } from "../requests.ts";

interface Caption {
  language: string;
  status?: string;
}

/** Returns the languages in which a video has finished captions. */
export async function captionsOf(api: V4Client, base: string, uid: string): Promise<string[]> {
  const captions = await resultIfFound<Caption[] | null>(api, `${base}/stream${apiPath`/${uid}`}/captions`);
  return (captions ?? [])
    .filter(({ status = "ready" }) => status === "ready")
    .map(({ language }) => language)
    .sort();
}

/** `video`: the path of the video on the target. */
export async function copyCaptions(
  { source, target, paths }: Context,
  uid: string,
  video: string,
  languages: readonly string[],
): Promise<void> {
  for (const language of languages) {
    const response = await source.api.raw("GET", `${paths.source}/stream${apiPath`/${uid}/captions/${language}/vtt`}`);
    const text = await response.text();
    await target.api.result("PUT", `${video}/captions${apiPath`/${language}`}`, {
      body: () => {
        const form = new FormData();
        form.set("file", new File([text], `${language}.vtt`, { type: "text/vtt" }));
        return form;
      },
    });
  }
}
