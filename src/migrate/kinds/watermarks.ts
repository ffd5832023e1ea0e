import { impossibleItem, plannedItem, type Context, type SourceContext } from "../context.ts";
import type { PlannedItem, V4Client } from "../port.ts";
import { apiPath, hasErrorStatus } from "../requests.ts";
import { idHeader } from "./zone.ts";

export interface Profile {
  uid: string;
  name: string;
  opacity: number;
  padding: number;
  scale: number;
  position: string;
  size?: number;
  downloadedFrom?: string | null;
}

const FIELDS = ["name", "opacity", "padding", "scale", "position"] as const;

/**
 * Plans the import of watermark profiles. The hosted service does not return their images, only the URLs of those that
 * have one.
 */
export async function planWatermarks(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, ids } = context;
  const list = (api: V4Client, base: string) => api.result<Profile[]>("GET", `${base}/stream/watermarks`);
  const [ours, theirs] = await Promise.all([list(source.api, paths.source), list(target.api, paths.target)]);
  const items: PlannedItem[] = [];
  for (const profile of ours) {
    const existing = theirs.find(({ uid }) => uid === (ids.find("watermark", profile.uid) ?? profile.uid));
    if (existing !== undefined) ids.set("watermark", profile.uid, existing.uid);
    items.push(await planProfile(context, profile, existing));
  }
  return items;
}

async function planProfile(context: Context, profile: Profile, existing: Profile | undefined): Promise<PlannedItem> {
  const { target, paths, ids } = context;
  const item = { kind: "watermark profile", key: `watermark ${profile.uid}`, name: profile.name || profile.uid };
  const form = (one: Profile) => Object.fromEntries(FIELDS.map((field) => [field, one[field]]));
  if (existing !== undefined)
    return plannedItem(context, { ...item, source: form(profile), target: form(existing), apply: async () => {} });
  const image = await imageOf(context, profile.uid);
  if (image === undefined && !profile.downloadedFrom)
    return impossibleItem({
      ...item,
      reason: "the API does not return its image; create the profile from the original image",
    });
  return plannedItem(context, {
    ...item,
    source: form(profile),
    target: undefined,
    async apply() {
      const options = { ...form(profile) };
      const made = await target.api.result<Profile>("POST", `${paths.target}/stream/watermarks`, {
        ...(image === undefined
          ? { json: { ...options, url: profile.downloadedFrom } }
          : { body: () => formOf(options, image) }),
        headers: idHeader(context, profile.uid),
      });
      ids.set("watermark", profile.uid, made.uid);
    },
  });
}

function formOf(options: Record<string, unknown>, image: Uint8Array<ArrayBuffer>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(options)) form.set(name, String(value));
  form.set("file", new File([image], "watermark.png", { type: "image/png" }));
  return form;
}

/** Reads the image of a profile. Undefined from the hosted service, which does not return it. */
export async function imageOf(
  { source, paths }: Pick<SourceContext, "source" | "paths">,
  uid: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const response = await source.api.raw("GET", `${paths.source}/stream/watermarks${apiPath`/${uid}`}/image`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (thrown) {
    if (hasErrorStatus(thrown, 400, 404, 405)) return undefined;
    throw thrown;
  }
}
