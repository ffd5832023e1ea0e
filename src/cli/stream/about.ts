import type { Options } from "../command.ts";

/** Options of a new video. */
export const videoPropertyOptions = {
  name: { type: "string", placeholder: "text", summary: "name of the video" },
  creator: { type: "string", placeholder: "text", summary: "creator: any text of up to 64 characters" },
  signed: { type: "boolean", summary: "require a token for playback" },
  "allowed-origin": { type: "string", placeholder: "host", multiple: true, summary: "host allowed to embed the video" },
  watermark: { type: "string", placeholder: "uid", summary: "watermark profile to burn into the video" },
} as const satisfies Options;

export interface VideoProperties {
  name: string | undefined;
  creator: string | undefined;
  signed: boolean | undefined;
  "allowed-origin": string[];
  watermark: string | undefined;
}

/** The properties as `Upload-Metadata`; the creator has a separate header. */
export const uploadMetadata = (
  { name, signed, "allowed-origin": origins, watermark }: VideoProperties,
  filename: string,
): Record<string, string | true> => ({
  name: name ?? filename,
  filename,
  ...(signed === true && { requiresignedurls: true as const }),
  ...(origins.length > 0 && { allowedorigins: origins.join(",") }),
  ...(watermark !== undefined && { watermark }),
});

/** Returns the properties as fields of a JSON body. */
export const videoBodyFields = ({ name, creator, signed, "allowed-origin": origins, watermark }: VideoProperties) => ({
  ...(name !== undefined && { meta: { name } }),
  ...(creator !== undefined && { creator }),
  ...(signed === true && { requireSignedURLs: true }),
  ...(origins.length > 0 && { allowedOrigins: origins }),
  ...(watermark !== undefined && { watermark: { uid: watermark } }),
});
